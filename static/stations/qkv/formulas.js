/** The projections as formulas. */

import { t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, sub } from "../../ui/mathml.js";

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
