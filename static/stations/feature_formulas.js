/** The weights of AFT and of RWKV as formulas, with the letters of the papers. */

import { has } from "../model/description.js";
import { frac, math, mi, mn, mo, mtext, row, sub, sup } from "../ui/mathml.js";

/** @import { Attention } from "../model/description.js" */

const exponent = (...parts) => sup(mi("e"), row(...parts));
const key = (i) => sub(mi("k", "k"), mi(i));

/** e^(w_ti + k_i); of RWKV e^(−(t−1−i)w + k_i); e^k_i where position adds nothing. @param {Attention} attention @param {string} i */
function term(attention, i) {
  if (has(attention, "position_bias")) return exponent(sub(mi("w"), row(mi("t"), mi(i))), mo("+"), key(i));
  if (!attention.parameters.decay) return exponent(key(i));
  return exponent(mo("−"), mtext("("), mi("t"), mo("−"), mn(1), mo("−"), mi(i), mtext(")"), mi("w"), mo("+"), key(i));
}

/** One feature's weight. @param {Attention} attention */
export const weightsFormula = (attention) =>
  math(
    sub(mi("a"), row(mi("t"), mi("i"))),
    mo("="),
    frac(term(attention, "i"), row(sub(mo("∑"), mi("j")), term(attention, "j"))),
    ...(attention.parameters.decay
      ? [mtext(", "), sub(mi("a"), row(mi("t"), mi("t"))), mo("∝"), exponent(mi("u"), mo("+"), key("t"))]
      : []),
  );
