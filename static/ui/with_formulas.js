/** Names in a text, set as the formulas are: W_O with its index below, e^−∞ with its exponent above. */

import { replace } from "./dom.js";
import { math, mi, mtext, sub, sup } from "./mathml.js";

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
