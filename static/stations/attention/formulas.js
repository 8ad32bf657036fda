/** The formulas of attention, as the stations show them (Vaswani et al. 2017, equation 1). */

import { t } from "../../ui/i18n.js";
import { lit, math, mi, mn, mo, mtext, sqrt, sub, sup } from "../../ui/mathml.js";

/** QKᵀ / √d on one line, which keeps the strip low. @param {Node} d */
const scaled = (d) => [mi("Q", "q"), sup(mi("K", "k"), mtext("⊤")), mo("/"), sqrt(d)];

const keyDimension = () => sub(mi("d"), mi("k"));

/** A tensor of a mechanism that this page has no formula for: its name. @param {string} role */
export const plain = (role) => math(mi(role));

/** A = softmax(QKᵀ/√d_k + M) */
export const weights = () =>
  math(mi("A"), mo("="), mi("softmax"), mtext("("), ...scaled(keyDimension()), mo("+"), mi("M"), mtext(")"));

/** The same, with M highlighted. */
export const masked = () =>
  math(mi("A"), mo("="), mi("softmax"), mtext("("), ...scaled(keyDimension()), mo("+"), lit(mi("M")), mtext(")"));

/** S = QKᵀ/√d_k = QKᵀ/√32 @param {number} dHead */
export const scores = (dHead) => math(mi("S"), mo("="), ...scaled(keyDimension()), mo("="), ...scaled(mn(dHead)));

/**
 * q = LN(x) W_Q + b_Q. A model that normalises after the block projects x itself.
 * @param {"q"|"k"|"v"} name @param {boolean} normFirst @param {"source"|"target"|null} [side]  whose states: of x, if
 * there is only one side
 */
export function projection(name, normFirst, side = null) {
  const matrix = (letter) => sub(mi(letter, name), mi(name.toUpperCase()));
  const x = side ? sub(mi("x"), mtext(t(`sides.${side}`))) : mi("x");
  const input = normFirst && side !== "source" ? [mi("LN"), mtext("("), x, mtext(")")] : [x];
  return math(mi(name, name), mo("="), ...input, matrix("W"), mo("+"), matrix("b"));
}
