/** Roles of mechanisms as letters, and the equations in a description as formulas. */

import { scalesProducts } from "../model/description.js";
import { hasString, t } from "../ui/i18n.js";
import { frac, math, mi, mn, mo, mover, mtext, row, sqrt, sub, sup } from "../ui/mathml.js";

/** @import { Attention, Identity } from "../model/description.js" */

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

const index = (letter, ...names) => sub(letter, row(...names.map((name) => mi(name))));
const power = (...exponent) => sup(mi("e"), row(...exponent));
const over = (name) => sub(mo("∑"), mi(name));
const infix =
  (sign) =>
  (...of) =>
    of.flatMap((one, i) => (i ? [mo(sign), letterOf(one)] : [letterOf(one)]));
const dotted = (a, b, isScaled = true) =>
  isScaled ? [frac(row(a, mo("·"), b), sqrt(sub(mi("d"), mi("k"))))] : [a, mo("·"), b];

/** e^(w + k) of key `i`, without w where there is no bias. @param {string[]} of */
const exponential = (of, i) => {
  const bias = of.length === 3 ? [index(letterOf(of[0]), "t", i), mo("+")] : [];
  return power(...bias, index(mi("k", "k"), i));
};

/** @type {Object<string, (...of: string[]) => Node[]>} */
const OPS = {
  scaled_product: (q, k) => dotted(letterOf(q), letterOf(k)),
  scaled_row_product: (q, table) => dotted(letterOf(q), letterOf(table)),
  rms_norm: (x, gain) => [letterOf(gain), mo("⊙"), mi("RMS"), mtext("("), letterOf(x), mtext(")")],
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
export function formulaOf(identity, role, attention = null) {
  if (!identity) return math(letterOf(role));
  const { op, of } = identity;
  if (op === "scaled_product" && !scalesProducts(attention))
    return math(letterOf(role), mo("="), ...dotted(letterOf(of[0]), letterOf(of[1]), false));
  const plain = () => [mi(op), mtext("("), ...infix(",")(...of), mtext(")")];
  return math(letterOf(role), mo("="), ...(Object.hasOwn(OPS, op) ? OPS[op](...of) : plain()));
}
