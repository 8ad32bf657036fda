/** The projections as formulas. */

import { t } from "../../ui/i18n.js";
import { math, mi, mo, mtext, sub } from "../../ui/mathml.js";

/**
 * q = LN(x) W_Q + b_Q. A model that normalises after the block projects x itself.
 * @param {"q"|"k"|"v"} name @param {{norm: string|null, bias: boolean, normed?: boolean}} of  the letters of the norm before it; `normed`: its
 *   heads go through an RMSNorm after it
 * @param {"source"|"target"|null} [side]  whose states: of x, if there is only one side
 */
export function projection(name, { norm, bias, normed = false }, side = null) {
  const matrix = (letter) => sub(mi(letter, name), mi(name.toUpperCase()));
  const x = side ? sub(mi("x"), mtext(t(`sides.${side}`))) : mi("x");
  const input = norm && side !== "source" ? [mi(norm), mtext("("), x, mtext(")")] : [x];
  const projected = [...input, matrix("W"), ...(bias ? [mo("+"), matrix("b")] : [])];
  const gain = sub(mi("γ"), mi(name, name));
  const made = normed ? [gain, mo("⊙"), mi("RMS"), mtext("("), ...projected, mtext(")")] : projected;
  return math(mi(name, name), mo("="), ...made);
}
