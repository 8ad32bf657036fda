/** Names in a text, set as the formulas are: W_O with its index below, e^−∞ with its exponent above. */

import { replace } from "./dom.js";
import { math, mi, mtext, sub, sup } from "./mathml.js";

const NAMES = /(W_[QKVO12]|d_(?:model|head|ff|k)|e\^−∞)/;

/** @param {string|(Node|string)[]} text @returns {(Node|string)[]} */
export function withFormulas(text) {
  return [text]
    .flat()
    .flatMap((piece) => (typeof piece === "string" ? piece.split(NAMES).filter(Boolean).map(set) : [piece]));
}

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
