/** Roles of mechanisms as letters, and the equations in a description as formulas. */

import { activationOf } from "../model/activations.js";
import { dividesProducts, has } from "../model/description.js";
import { hasString, t } from "../ui/i18n.js";
import { frac, math, mi, mn, mo, mover, mtext, row, sqrt, sub, sup } from "../ui/mathml.js";

/** @import { Attention, Identity, Stack } from "../model/description.js" */

// What the tap "embedding" is: multiplied by √d_model if the model scales its embeddings (Vaswani et al. 2017,
// section 3.4).

/**
 * How E[id] follows from the tap, if they differ; a file of an unknown model may not say.
 * @param {Stack} stack @returns {string|null}
 */
export function scalingWords(stack) {
  if (stack.embedding.scale === null) return t("embedding.scaling_unknown");
  return isScaled(stack) ? t("embedding.scaling") : null;
}

/** @param {Stack} stack */
export const isScaled = ({ embedding: { scale } }) => scale !== null && scale !== 1;

/** The formula of an FFN's activation: post = max(0, pre), GELU(pre) = …, SiLU(pre) ⊙ up. */
const called = (/** @type {string} */ name, /** @type {Node} */ inside) =>
  row(mi(name), mtext("("), inside, mtext(")"));
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

/** The weights of AFT and of RWKV as formulas, with the letters of the papers. */
const exponent = (/** @type {Node[]} */ ...parts) => sup(mi("e"), row(...parts));
const key = (/** @type {string} */ i) => sub(mi("k", "k"), mi(i));

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

/** @type {Object<string, () => Node>} */
const LETTERS = {
  q: () => mi("q", "q"),
  k: () => mi("k", "k"),
  v: () => mi("v", "v"),
  z: () => mi("z"),
  q_projected: () => mover(mi("q", "q"), mo("˜")),
  k_projected: () => mover(mi("k", "k"), mo("˜")),
  gain_q: () => sub(mi("γ"), mi("q", "q")),
  gain_k: () => sub(mi("γ"), mi("k", "k")),
  q_rotated: () => sub(mi("R", "q"), mi("q", "q")),
  k_rotated: () => sub(mi("R", "k"), mi("k", "k")),
  scores: () => mi("S"),
  pattern: () => mi("A"),
  mask: () => mi("M"),
  weights: () => mi("a"),
  relative_bias: () => mi("b"),
  alibi: () => mi("m"),
  position_scores: () => sub(mi("S"), mi("p")),
  content_to_position: () => sub(mi("S"), mtext("c→p")),
  position_to_content: () => sub(mi("S"), mtext("p→c")),
  uncapped_scores: () => sub(mi("S"), mn(0)),
  content_scores: () => sub(mi("S"), mi("k")),
  relative_scores: () => sub(mi("S"), mi("a")),
  content_z: () => sub(mi("z"), mi("v")),
  relative_z: () => sub(mi("z"), mi("a")),
  table_k: () => sup(mi("a"), mi("K")),
  table_v: () => sup(mi("a"), mi("V")),
  distance: () => mi("Δ"),
  position_bias: () => mi("w"),
  mean_weights: () => mover(mi("a"), mo("¯")),
  gate: () => mi("g"),
  r: () => mi("r", "q"),
  numerator: () => mi("N"),
  denominator: () => mi("D"),
  mixed: () => mi("y"),
  b_o: () => sub(mi("b"), mi("O")),
};

/** A role's letter; a role that has none is its name. @param {string} role @returns {Node} */
export const letterOf = (role) => LETTERS[role]?.() ?? mi(role);

/** What people call a role. @param {string} role */
export const roleName = (role) => (hasString(`role.${role}`) ? t(`role.${role}`) : role);

/** @param {Node} letter @param {...string} names */
const index = (letter, ...names) => sub(letter, row(...names.map((name) => mi(name))));
const power = (/** @type {Node[]} */ ...exponent) => sup(mi("e"), row(...exponent));
const over = (/** @type {string} */ name) => sub(mo("∑"), mi(name));
/** @param {string} sign @returns {(...of: string[]) => Node[]} */
const infix =
  (sign) =>
  (...of) =>
    of.flatMap((one, i) => (i ? [mo(sign), letterOf(one)] : [letterOf(one)]));
/** @param {Node} a @param {Node} b */
const dotted = (a, b, isScaled = true) =>
  isScaled ? [frac(row(a, mo("·"), b), sqrt(sub(mi("d"), mi("k"))))] : [a, mo("·"), b];

/** e^(w + k) of key `i`, without w where there is no bias. @param {string[]} of @param {string} i */
const exponential = (of, i) => {
  const bias = of.length === 3 ? [index(letterOf(of[0]), "t", i), mo("+")] : [];
  return power(...bias, index(mi("k", "k"), i));
};

/** @type {Object<string, (...of: string[]) => Node[]>} */
const OPS = {
  scaled_product: (q, k) => dotted(letterOf(q), letterOf(k)),
  scaled_row_product: (q, table) => dotted(letterOf(q), letterOf(table)),
  rms_norm: (x, gain) => [letterOf(gain), mo("⊙"), mi("RMS"), mtext("("), letterOf(x), mtext(")")],
  softcap: (scores) => [mi("c"), mo("·"), mi("tanh"), mtext("("), letterOf(scores), mo("/"), mi("c"), mtext(")")],
  masked_softmax: (scores, mask) => [mi("softmax"), mtext("("), letterOf(scores), mo("+"), letterOf(mask), mtext(")")],
  weighted_sum: (weights, v) => [over("i"), letterOf(weights), letterOf(v)],
  weighted_rows: (weights, table) => [over("i"), letterOf(weights), letterOf(table)],
  feature_softmax: (...of) => [frac(exponential(of, "i"), row(over("j"), exponential(of, "j")))],
  feature_mean: (weights) => [frac(mn(1), sub(mi("d"), mi("k"))), sub(mo("∑"), mi("f")), letterOf(weights)],
  feature_sum: (weights, v) => [over("i"), letterOf(weights), mo("⊙"), letterOf(v)],
  quotient: (above, below) => [frac(letterOf(above), letterOf(below))],
  sigmoid: (x) => [mi("σ"), mtext("("), letterOf(x), mtext(")")],
  product: infix("⊙"),
  sum: infix("+"),
};

/**
 * "z = g ⊙ y": an identity, or a role's letter alone.
 * @param {Identity|null} identity @param {string} role
 * @param {Attention|null} [attention]  that does not divide its products by √d, perhaps
 */
export function equationOf(identity, role, attention = null) {
  if (!identity) return math(letterOf(role));
  const { op, of } = identity;
  if (op === "scaled_product" && !dividesProducts(attention))
    return math(letterOf(role), mo("="), ...dotted(letterOf(of[0]), letterOf(of[1]), false));
  const plain = () => [mi(op), mtext("("), ...infix(",")(...of), mtext(")")];
  return math(letterOf(role), mo("="), ...(Object.hasOwn(OPS, op) ? OPS[op](...of) : plain()));
}
