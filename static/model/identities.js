/** One element of an identity in a description, in float64: its terms and their sum. No DOM. */

import { cellIn, columnIn, normalised, products, rowIn, sum } from "./matrix.js";

/**
 * @import { Identity } from "./description.js"
 * @import { Matrix } from "./matrix.js"
 */

/**
 * @typedef {{a: ArrayLike<number>, b: ArrayLike<number>|null, values: number[], total: number}} Element  `b` null: the terms
 *   are not products; `total` may be more than their sum (a factor, a division, a bias): the number to compare with the
 * tensor
 * @typedef {{scale: number|null, norm_eps?: number, softcap?: number}} Constants  of the attention
 */

/**
 * One head's matrices in, in the order of the identity's `of`.
 * @type {Object<string, (of: any[], row: number, col: number, constants: Constants) => Element>}
 */
const OPS = {
  /** q · k, times the scale. */
  scaled_product([q, k], row, col, { scale }) {
    const [a, b] = [rowIn(q, row), rowIn(k, col)];
    const values = products(a, b);
    return { a, b, values, total: sum(values) * (scale ?? 1) };
  },

  /** x / √(mean(x²) + ε) · gain, over a row. */
  rms_norm([x, gain], row, col, { norm_eps: eps = 0 }) {
    const { hat } = normalised(rowIn(x, row), col, eps, true);
    return { a: [hat], b: [gain.data[col]], values: [hat * gain.data[col]], total: hat * gain.data[col] };
  },

  /** e to the power of a score, divided by the row's sum; 0 for a forbidden cell and in a row without an allowed key. */
  masked_softmax([scores, mask], row, col) {
    const allowed = mask ? Array.from(rowIn(mask, row), (reasons) => reasons === 0) : null;
    const own = Array.from(rowIn(scores, row), (score, i) => (allowed && !allowed[i] ? -Infinity : Number(score)));
    const most = own.reduce((one, other) => Math.max(one, other), -Infinity);
    const values = own.map((score) => (score === -Infinity ? 0 : Math.exp(score - most)));
    const whole = sum(values);
    return { a: values, b: null, values, total: whole === 0 ? 0 : values[col] / whole };
  },

  /** Σ weight · value, over the keys. */
  weighted_sum([weights, v], row, col) {
    const [a, b] = [rowIn(weights, row), columnIn(v, col)];
    const values = products(a, b);
    return { a, b, values, total: sum(values) };
  },

  /** c · tanh(x / c), element by element. */
  softcap([x], row, col, { softcap: c = 1 }) {
    const one = cellIn(x, row, col);
    const total = c * Math.tanh(one / c);
    return { a: [one], b: null, values: [total], total };
  },

  /** 1 / (1 + e^−x), element by element. */
  sigmoid([x], row, col) {
    const one = cellIn(x, row, col);
    const total = 1 / (1 + Math.exp(-one));
    return { a: [one], b: null, values: [total], total };
  },

  /** The product, element by element. */
  product([a, b], row, col) {
    const [one, other] = [cellIn(a, row, col), cellIn(b, row, col)];
    return { a: [one], b: [other], values: [one * other], total: one * other };
  },

  /** What the heads write, and the bias. */
  sum_heads([heads, bias], row, col) {
    const [n, rows, cols] = heads.shape;
    const a = Array.from({ length: n }, (_, head) => heads.data[(head * rows + row) * cols + col]);
    return { a, b: null, values: a, total: sum(a) + (bias ? bias.data[col] : 0) };
  },

  /** The mean over the features of a group. */
  feature_mean([weights], row, col) {
    const [, nKey, features] = weights.shape;
    const from = (row * nKey + col) * features;
    const a = weights.data.subarray(from, from + features);
    const values = [...a];
    return { a, b: null, values, total: sum(values) / values.length };
  },

  /** Σ weight · value over the keys, in one feature. */
  feature_sum([weights, v], row, col) {
    const [, nKey, features] = weights.shape;
    const a = Array.from({ length: nKey }, (_, key) => weights.data[(row * nKey + key) * features + col]);
    const b = columnIn(v, col);
    const values = products(a, b);
    return { a, b, values, total: sum(values) };
  },

  /** One sum divided by the other, of the feature or of the whole head; 0 where nothing was summed. */
  quotient([above, below], row, col) {
    const [one, other] = [
      cellIn(above, row, col),
      below.shape.length === 1 ? below.data[row] : cellIn(below, row, col),
    ];
    return { a: [one], b: [1 / other], values: [one, other], total: other === 0 ? 0 : one / other };
  },

  /** Of a key of one number: e^(w + k) over the allowed keys, divided by their sum. With features: weight_arithmetic.js. */
  feature_softmax([...of], row, col) {
    const [mask, k, bias] = of.reverse();
    const allowed = Array.from(rowIn(mask, row), (reasons) => reasons === 0);
    const own = allowed.map((yes, i) => (yes ? k.data[i] + (bias ? cellIn(bias, row, i) : 0) : -Infinity));
    const most = own.reduce((one, other) => Math.max(one, other), -Infinity);
    const values = own.map((one) => (one === -Infinity ? 0 : Math.exp(one - most)));
    const whole = sum(values);
    return { a: values, b: null, values, total: whole === 0 ? 0 : values[col] / whole };
  },

  /** q times the row of a table that the distance of the pair has, times the scale. */
  scaled_row_product([q, table, distance], row, col, { scale }) {
    const [a, b] = [rowIn(q, row), rowIn(table, cellIn(distance, row, col))];
    const values = products(a, b);
    return { a, b, values, total: sum(values) * (scale ?? 1) };
  },

  /** Σ weight · the row of a table that the distance of the pair has, over the keys. */
  weighted_rows([weights, table, distance], row, col) {
    const a = rowIn(weights, row);
    const b = Array.from(rowIn(distance, row), (at) => cellIn(table, at, col));
    const values = products(a, b);
    return { a, b, values, total: sum(values) };
  },

  /** The parts of a role. */
  sum(parts, row, col) {
    const a = parts.map((part) => cellIn(part, row, col));
    return { a, b: null, values: a, total: sum(a) };
  },
};

/** The operations over all heads at once. */
const WHOLE = new Set(["sum_heads"]);

/** How many roles an operation reads; of those that are not here, one. @type {Record<string, number>} */
const OPERANDS = {
  ...{ scaled_product: 2, rms_norm: 2, masked_softmax: 2, weighted_sum: 2, product: 2, feature_sum: 2 },
  ...{ quotient: 2, scaled_row_product: 3, weighted_rows: 3 },
};

/** Whether an identity names as many roles as its operation reads. @param {{op: string, of: string[]}} identity */
export const isComplete = ({ op, of }) => of.length >= (Object.hasOwn(OPERANDS, op) ? OPERANDS[op] : 1);

/** Whether the page knows how to compute it. @param {Identity|null} identity */
export const isKnown = (identity) => identity !== null && Object.hasOwn(OPS, identity.op);

/**
 * One head of a tensor: several heads may share one (a mask; keys and values of a group).
 * @param {any} tensor @param {number} head @param {number} count  heads of the attention
 * @param {string} [dims]  by default, what has three dimensions or more has a head first
 */
export function headOf(tensor, head, count, dims) {
  if (dims ? !/^(kv_)?head /.test(dims) : tensor.shape.length < 3) return tensor;
  const [heads, ...shape] = /** @type {number[]} */ (tensor.shape);
  const size = shape.reduce((product, one) => product * one, 1);
  const from = Math.floor((head * heads) / count) * size;
  return { shape, data: tensor.data.subarray(from, from + size) };
}

/**
 * One element of an identity's result; null if the page does not know the operation or lacks a tensor.
 * @param {Identity} identity @param {(name: string) => any} tensorOf  a role's tensor of all heads, or a parameter
 * @param {{n_head: number, scale: number|null, norm_eps?: number, softcap?: number, roles?: Object<string, {dims: string}>}} attention
 * @param {{head: number, row: number, col: number}} at
 * @returns {Element|null}
 */
export function elementOf({ op, of }, tensorOf, attention, { head, row, col }) {
  const tensors = of.map(tensorOf);
  if (!Object.hasOwn(OPS, op) || tensors.some((one) => one === undefined)) return null;
  const dims = (/** @type {number} */ i) => attention.roles?.[of[i]]?.dims;
  const own = WHOLE.has(op) ? tensors : tensors.map((one, i) => headOf(one, head, attention.n_head, dims(i)));
  return OPS[op](own, row, col, attention);
}
