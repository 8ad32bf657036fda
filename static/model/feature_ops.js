/**
 * The operations of an Attention Free Transformer on one head, in float64: weights [query key feature], and their sums.
 * Those of one feature are in feature_weights.js. No DOM.
 */

import { cellIn, columnIn, products, rowIn, sum } from "./matrix.js";

/** @typedef {{shape: number[], data: ArrayLike<number>}} Tensor  [query key feature] */

/** All features of one query and key. @param {any} weights @param {number} query @param {number} key @returns {Float32Array} the same memory */
export function featuresAt({ shape: [, nKey, features], data }, query, key) {
  const from = (query * nKey + key) * features;
  return data.subarray(from, from + features);
}

/** One feature's weights [query key]. @param {any} weights @param {number} feature */
export function sliceOf({ shape: [nQuery, nKey, features], data }, feature) {
  const one = new Float32Array(nQuery * nKey);
  for (let i = 0; i < one.length; i++) one[i] = data[i * features + feature];
  return { shape: [nQuery, nKey], data: one };
}

/** @type {Object<string, (of: any[], row: number, col: number) => import("./identities.js").Element>} */
export const FEATURE_OPS = {
  /** The mean over the features of a group. */
  feature_mean([weights], row, col) {
    const a = featuresAt(weights, row, col);
    const values = Array.from(a);
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

  /** Of a key of one number: e^(w + k) over the allowed keys, divided by their sum. A role with features is feature_weights.js. */
  feature_softmax([...of], row, col) {
    const [mask, k, bias] = of.reverse();
    const allowed = Array.from(rowIn(mask, row), (reasons) => reasons === 0);
    const own = allowed.map((yes, i) => (yes ? k.data[i] + (bias ? cellIn(bias, row, i) : 0) : -Infinity));
    const most = own.reduce((one, other) => Math.max(one, other), -Infinity);
    const values = own.map((one) => (one === -Infinity ? 0 : Math.exp(one - most)));
    const whole = sum(values);
    return { a: values, b: null, values, total: whole === 0 ? 0 : values[col] / whole };
  },
};
