/** The formula of an FFN's activation: post = max(0, pre), GELU(pre) = …, SiLU(pre) ⊙ up. */

import { activationOf } from "../model/activations.js";
import { frac, math, mi, mn, mo, mtext, row, sqrt, sup } from "../ui/mathml.js";

const called = (name, inside) => row(mi(name), mtext("("), inside, mtext(")"));
const pre = () => mi("pre");

/** The right side of "=". An activation that is not here has its name only. @type {Object<string, () => Node[]>} */
const WRITTEN = {
  relu: () => [mi("max"), row(mtext("("), mn(0), mo(","), pre(), mtext(")"))],
  relu_squared: () => [sup(row(mi("max"), mtext("("), mn(0), mo(","), pre(), mtext(")")), mn(2))],
  gelu: () => [pre(), mo("·"), called("Φ", pre())],
  gelu_tanh: () => [frac(pre(), mn(2)), row(mtext("("), mn(1), mo("+"), called("tanh", tanhOf()), mtext(")"))],
  silu: () => [pre(), mo("·"), called("σ", pre())],
};

/** √(2/π) (pre + 0.044715 pre³) */
const tanhOf = () =>
  row(sqrt(frac(mn(2), mi("π"))), row(mtext("("), pre(), mo("+"), mn("0.044715"), sup(pre(), mn(3)), mtext(")")));

/** @param {{activation: string, gate: string|null}} ffn @returns {Element} */
export function activationFormula({ activation, gate }) {
  const { name } = activationOf(activation);
  const written = Object.hasOwn(WRITTEN, activation) ? WRITTEN[activation]() : [called(name, pre())];
  const times = gate === null ? [] : [mo("⊙"), mi(gate)];
  return math(mi("post"), mo("="), ...written, ...times);
}
