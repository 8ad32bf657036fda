/** The arithmetic of one weight, again from the float32 q, k, mask and v of its head (Vaswani et al. 2017, equation 1). No DOM. */

/**
 * What leads from q and k to a weight, in float64.
 * @param {import("../../data/model_trace.js").Detail} detail @param {number} query @param {number} key
 */
export function weightTerms({ q, k, mask, pattern }, query, key) {
  const dHead = q.shape[1];
  const nKey = k.shape[0];
  const root = Math.sqrt(dHead);
  const products = productsOf(row(q, query), row(k, key));
  const scoreOf = (j) => sum(productsOf(row(q, query), row(k, j))) / root;
  const allowed = Array.from({ length: nKey }, (_, j) => mask.data[query * nKey + j] === 0);
  const scores = allowed.map((yes, j) => (yes ? scoreOf(j) : -Infinity));
  // e to a large power leaves even float64: softmax stays the same when all of a row are moved (and it is said).
  const highest = Math.max(...scores);
  const shift = highest > 500 ? highest : 0;
  const exps = scores.map((score) => Math.exp(score - shift));
  const rowSum = sum(exps);
  return {
    ...{ products, dHead, root, dot: sum(products), scaled: sum(products) / root, reasons: mask.data[query * nKey + key] },
    ...{ shift, exp: exps[key], rowSum, weight: rowSum === 0 ? 0 : exps[key] / rowSum, nAllowed: allowed.filter(Boolean).length },
    model: pattern.data[query * nKey + key],
  };
}

/**
 * What the weight does: a·v, and its share of z = Σ a·v, of which all keys' shares sum to 1.
 * @param {import("../../data/model_trace.js").Detail} detail @param {number} query @param {number} key
 */
export function handedOver({ pattern, v }, query, key) {
  const nKey = v.shape[0];
  const weights = pattern.data.subarray(query * nKey, (query + 1) * nKey);
  const part = Array.from(row(v, key), (one) => weights[key] * one);
  const z = part.map((_, d) => weights.reduce((total, weight, j) => total + weight * v.data[j * v.shape[1] + d], 0));
  const whole = sum(productsOf(z, z));
  return { part, z, share: whole === 0 ? 0 : sum(productsOf(part, z)) / whole };
}

/**
 * ‖x W_O‖ of one head's part x: what it moves the residual stream by, before any LayerNorm of it.
 * @param {number[]} part  [d_head] @param {import("../../data/wire.js").Tensor} wO  [d_model d_model], as torch keeps it: [out in]
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

/** @param {{shape: number[], data: ArrayLike<number>}} matrix @param {number} index @returns {ArrayLike<number>} */
export function row({ shape, data }, index) {
  return /** @type {any} */ (data).subarray(index * shape[1], (index + 1) * shape[1]);
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b @returns {number[]} */
export const productsOf = (a, b) => Array.from(a, (one, i) => one * b[i]);

/** @param {ArrayLike<number>} terms @returns {number} */
export const sum = (terms) => Array.prototype.reduce.call(terms, (total, term) => total + term, 0);
