/** Reads row-major matrices, and the few sums that explanations need, in float64. No DOM. */

/** @typedef {{shape: number[], data: Float32Array|Uint8Array}} Matrix  [rows, columns] */

/** @param {Matrix} matrix @param {number} row @returns {any} the same memory */
export const rowIn = ({ shape: [, cols], data }, row) => data.subarray(row * cols, (row + 1) * cols);

/** @param {Matrix} matrix @param {number} col @returns {number[]} */
export const columnIn = ({ shape: [rows, cols], data }, col) =>
  Array.from({ length: rows }, (_, row) => data[row * cols + col]);

/** @param {Matrix} matrix @param {number} row @param {number} col */
export const cellIn = ({ shape: [, cols], data }, row, col) => data[row * cols + col];

/** The given columns, in this order. @param {Matrix} matrix @param {number[]} columns */
export function columnsIn({ shape: [rows, cols], data }, columns) {
  const out = new Float32Array(rows * columns.length);
  for (let row = 0, i = 0; row < rows; row++) for (const col of columns) out[i++] = data[row * cols + col];
  return { shape: [rows, columns.length], data: out };
}

/** One head of [head, rows, columns]. @param {any} tensor @param {number} head @returns {any} the same memory */
export function headIn({ shape: [, rows, cols], data }, head) {
  return { shape: [rows, cols], data: data.subarray(head * rows * cols, (head + 1) * rows * cols) };
}

/** @param {ArrayLike<number>} terms @returns {number} */
export function sum(terms) {
  let total = 0;
  for (let i = 0; i < terms.length; i++) total += terms[i];
  return total;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b @returns {number[]} */
export const products = (a, b) => Array.from(a, (one, i) => one * b[i]);

/** How much of a sum one of its parts is, along that sum: these shares add up to 1. @param {ArrayLike<number>} part @param {ArrayLike<number>} whole */
export function shareAlong(part, whole) {
  const squares = sum(products(whole, whole));
  return squares === 0 ? 0 : sum(products(part, whole)) / squares;
}

/** ‖x‖ @param {ArrayLike<number>} x */
export function lengthOf(x) {
  let squares = 0;
  for (let i = 0; i < x.length; i++) squares += x[i] ** 2;
  return Math.sqrt(squares);
}

/** The index of the largest by size; the first of equals. @param {ArrayLike<number>} values @returns {number} */
export function largest(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (Math.abs(values[i]) > Math.abs(values[best])) best = i;
  return best;
}

/** The index of the largest value; the first of equals. @param {ArrayLike<number>} values @returns {number} */
export function indexOfMost(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/**
 * LayerNorm of dimension `d`, before gain and bias: (x_d − μ) / √(σ² + ε) (Ba et al. 2016). An RMSNorm takes μ = 0, so that
 * `variance` is the mean of the squares.
 * @param {ArrayLike<number>} x  [d_model] @param {number} d @param {number} eps @param {boolean} [rms]
 */
export function normalised(x, d, eps, rms = false, frozen = /** @type {number|null} */ (null)) {
  const mean = rms ? 0 : sum(x) / x.length;
  let squares = 0;
  for (let i = 0; i < x.length; i++) squares += (x[i] - mean) ** 2;
  const variance = squares / x.length;
  const deviation = frozen ?? Math.sqrt(variance + eps);
  return { mean, variance, deviation, hat: (x[d] - mean) / deviation };
}

/**
 * σ that a norm divided by, from what it read and wrote: another run's where LayerNorm is frozen. The output less β is (x − mean) γ / σ.
 * @param {ArrayLike<number>} x @param {ArrayLike<number>} out @param {ArrayLike<number>} gain @param {ArrayLike<number>|null} bias @param {boolean} rms
 */
export function deviationOf(x, out, gain, bias, rms) {
  const mean = rms ? 0 : sum(x) / x.length;
  let [both, own] = [0, 0];
  for (let i = 0; i < x.length; i++) {
    const term = (x[i] - mean) * gain[i];
    both += term * (out[i] - (bias?.[i] ?? 0));
    own += term * term;
  }
  return own / both;
}

// The effective number of keys of a row of weights: exp of its entropy. 1: a single key; n: n keys alike.

/** exp(−Σ p ln p) of weights that add up to 1. @param {ArrayLike<number>} weights */
export function effectiveKeys(weights) {
  let entropy = 0;
  for (let i = 0; i < weights.length; i++) if (weights[i] > 0) entropy -= weights[i] * Math.log(weights[i]);
  return Math.exp(entropy);
}

/**
 * One row of every head, and of all heads together: the mean of their weights.
 * @param {{shape: number[], data: ArrayLike<number>}} heads  [head, query, key] @param {number} query
 * @returns {{heads: number[], union: number}}
 */
export function effectiveOf({ shape: [nHead, nQuery, nKey], data }, query) {
  const rows = Array.from({ length: nHead }, (_, head) => {
    const from = (head * nQuery + query) * nKey;
    return Array.from({ length: nKey }, (_, key) => data[from + key]);
  });
  const mean = Array.from({ length: nKey }, (_, key) => rows.reduce((sum, row) => sum + row[key], 0) / nHead);
  return { heads: rows.map(effectiveKeys), union: effectiveKeys(mean) };
}
