/**
 * The arithmetic of one weight, recomputed from the float32 q, k, mask and v of its head (Vaswani et al. 2017,
 * equation 1), with the part for the distance where there is one (Shaw et al. 2018, equations 3 and 4). No DOM.
 */

import { cellIn, columnIn, products, rowIn, sum } from "../../../model/matrix.js";
import { vectorOf } from "../../../model/scoring.js";

/**
 * @import { Detail, Matrix } from "../../../data/model_trace.js"
 * @import { Tensor } from "../../../data/wire.js"
 * @import { Scoring } from "../../../model/scoring.js"
 */

/**
 * What leads from q and k to a weight, in float64.
 * @param {Detail} detail @param {Scoring} scoring @param {number} query @param {number} key
 */
export function weightTerms(
  { mask, pattern },
  { q, k, distance, bias = null, divisor = Math.sqrt(q.shape[1]) },
  query,
  key,
) {
  const dHead = q.shape[1];
  const nKey = k.shape[0];
  const own = rowIn(q, query);
  const terms = products(own, rowIn(k, key));
  const apart = (j) => (distance ? products(own, vectorOf(distance, "keys", query, j)) : []);
  const biasOf = (j) => (bias ? cellIn(bias, query, j) : 0);
  const scoreOf = (j) => (sum(products(own, rowIn(k, j))) + sum(apart(j))) / divisor + biasOf(j);
  const allowed = Array.from({ length: nKey }, (_, j) => mask.data[query * nKey + j] === 0);
  const scores = allowed.map((yes, j) => (yes ? scoreOf(j) : -Infinity));
  // e to a large power leaves even float64: softmax stays the same when all of a row are moved (and it is said).
  const highest = Math.max(...scores);
  const shift = highest > 500 ? highest : 0;
  const exps = scores.map((score) => Math.exp(score - shift));
  const rowSum = sum(exps);
  return {
    products: terms,
    dHead,
    root: divisor,
    bias: biasOf(key),
    dot: sum(terms),
    distances: apart(key),
    apart: sum(apart(key)),
    scaled: scoreOf(key),
    reasons: mask.data[query * nKey + key],
    shift,
    exp: exps[key],
    rowSum,
    weight: rowSum === 0 ? 0 : exps[key] / rowSum,
    nAllowed: allowed.filter(Boolean).length,
    model: pattern.data[query * nKey + key],
  };
}

/**
 * What the weight does: a·v, and its share of z = Σ a·v, whose shares over all keys sum to 1.
 * @param {Matrix} pattern @param {Matrix} v  what each key
 *   passes on to this query @param {number} query @param {number} key
 */
export function handedOver(pattern, v, query, key) {
  const nKey = v.shape[0];
  const weights = pattern.data.subarray(query * nKey, (query + 1) * nKey);
  const part = Array.from(rowIn(v, key), (one) => weights[key] * one);
  const z = part.map((_, d) => sum(products(weights, columnIn(v, d))));
  const whole = sum(products(z, z));
  return { part, z, share: whole === 0 ? 0 : sum(products(part, z)) / whole };
}

/**
 * ‖x W_O‖ of one head's part x: what it moves the residual stream by, before any LayerNorm of it.
 * @param {number[]} part  [d_head] @param {Tensor} wO  [d_model d_model], as torch keeps it: [out in]
 * @param {number} head
 */
export function moved(part, { shape: [dModel, width], data }, head) {
  const from = head * part.length;
  let squares = 0;
  for (let out = 0; out < dModel; out++) {
    let one = 0;
    for (let d = 0; d < part.length; d++) one += part[d] * Number(data[out * width + from + d]);
    squares += one * one;
  }
  return Math.sqrt(squares);
}
