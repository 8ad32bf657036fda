/** Shorthands for formulas in MathML, `math(mi("A"), mo("="), mi("softmax"), …)`, and texts with names set as in formulas. */

import { mathml, replace } from "./dom.js";

/** @import { Child } from "./dom.js" */

/** A whole formula. `options.display` sets it on a line of its own. @param {...Child} children */
export const math = (...children) => mathml("math", { class: "math" }, mathml("mrow", null, ...children));

/** A name; `role` colours it by meaning: "q", "k", "v" or "at". @param {string} name @param {string} [role] */
export const mi = (name, role) =>
  mathml("mi", { class: role ?? null, mathvariant: name.length === 1 ? null : "normal" }, name);

/** An operator or a bracket. @param {string} sign */
export const mo = (sign) => mathml("mo", null, sign);

/** A bracket or word that must not stretch or gain space. @param {string} text */
export const mtext = (text) => mathml("mtext", null, text);

/** A number. @param {string|number} value */
export const mn = (value) => mathml("mn", null, value);

/** Things side by side, as one. @param {...Child} children */
export const row = (...children) => mathml("mrow", null, ...children);

/** @param {Child} base @param {Child} below */
export const sub = (base, below) => mathml("msub", null, base, below);

/** @param {Child} base @param {Child} above */
export const sup = (base, above) => mathml("msup", null, base, above);

/** @param {Child} base @param {Child} below @param {Child} above */
export const subsup = (base, below, above) => mathml("msubsup", null, base, below, above);

/** @param {Child} base @param {Child} above */
export const mover = (base, above) => mathml("mover", { accent: "true" }, base, above);

/** @param {Child} inside */
export const sqrt = (inside) => mathml("msqrt", null, inside);

/** @param {Child} above @param {Child} below */
export const frac = (above, below) => mathml("mfrac", null, above, below);

/** K transposed: Kᵀ. @param {Child} base */
export const transposedFormula = (base) => sup(base, mo("⊤"));

/** How a sign above or below its base is written in a line of text. @type {Record<string, (parts: string[]) => string>} */
const IN_A_LINE = {
  msub: ([base, below]) => `${base}_${below}`,
  msup: ([base, above]) => base + raised(above),
  msubsup: ([base, below, above]) => `${base}_${below}${raised(above)}`,
  msqrt: (parts) => `√${parts.join("")}`,
  mover: ([base, above]) => base + (above === "˜" ? "\u0303" : above),
};

const raised = (/** @type {string} */ above) => (above === "⊤" ? "ᵀ" : `^${above}`);

/** A formula as plain text, for the name of a file's picture: "K_5ᵀ", "W_Q". @param {Node} node @returns {string} */
export function asText(node) {
  const inside = [...node.childNodes].map(asText);
  if (inside.length === 0) return node.textContent ?? "";
  return (IN_A_LINE[node.nodeName] ?? ((parts) => parts.join("")))(inside);
}

// Names in a text, set as the formulas are: W_O with its index below, e^−∞ with its exponent above.

const NAMES = /(W_[QKVO12]|d_(?:model|head|ff|k)|e\^−∞)/;
const AFTER = new RegExp(`${NAMES.source}(?=[、。，,.;:)）」])`, "g");

/** @param {string|(Node|string)[]} text @returns {(Node|string)[]} */
export function withFormulas(text) {
  return [text]
    .flat()
    .flatMap((piece) => (typeof piece === "string" ? joined(piece).split(NAMES).filter(Boolean).map(set) : [piece]));
}

/** No line begins with the comma after a formula. @param {string} text */
const joined = (text) => text.replace(AFTER, "$1\u2060");

/** @param {string} piece */
function set(piece) {
  if (!NAMES.test(piece)) return piece;
  const [base, index] = piece.split(/[_^]/);
  return piece.includes("_") ? math(sub(mi(base), mi(index))) : math(sup(mi(base), mtext(index)));
}

/** Shows a text with its names set; the same text is left as it is. @param {HTMLElement} root @param {string} text */
export function setFormulas(root, text) {
  if (root.dataset.text === text) return;
  root.dataset.text = text;
  replace(root, withFormulas(text));
}
