/** Figures about rows of vectors, on plain arrays. */

import { signedScale } from "../../chart/matrix/scale.js";
import { memo } from "../../model/memo.js";

/** @typedef {{shape: number[], data: any}} Matrix */

/** The share of the numbers, by size, that the colour scale covers; outliers beyond it get the deepest colour. */
const MOST = 0.995;
const FAR = 1.5;

/**
 * One scale of colours for several matrices, each with its own extremes. A few outliers would leave all other numbers
 * pale: then the deepest colour begins at `full` (otherwise null). `shared` is the scale as a legend shows it.
 * @param {Float32Array[]} all
 */
export function sharedScales(all) {
  const scales = all.map((values) => signedScale(values));
  const largest = Math.max(...scales.map(({ max }) => max));
  const most = Math.max(...all.map(quantile));
  const full = most > 0 && largest > FAR * most ? most : null;
  const reach = full ?? largest;
  const [min, max] = [-reach, reach];
  const shared = { ...scales[0], min, max, seen: /** @type {[number, number]} */ ([min, max]) };
  return { full, shared, scales: scales.map((scale) => ({ ...scale, min, max })) };
}

const quantile = memo((/** @type {Float32Array} */ values) => {
  const sizes = values.map(Math.abs).sort();
  return sizes[Math.floor(MOST * (sizes.length - 1))];
});

/** The sum of the parts at one place, in float32, from the first to the last. @param {Float32Array[]} parts @param {number} i */
export const sumAt = (parts, i) => parts.slice(1).reduce((sum, part) => Math.fround(sum + part[i]), parts[0][i]);

/** The largest |sum of the parts − x| of all cells, the sum in float32. @param {Float32Array[]} parts @param {Float32Array} x */
export function fullGap(parts, x) {
  let gap = 0;
  for (let i = 0; i < x.length; i++) gap = Math.max(gap, Math.abs(sumAt(parts, i) - x[i]));
  return gap;
}

/**
 * PE(pos, d): sin at even dimensions, cos at odd ones (Vaswani et al. 2017, section 3.5).
 * @param {number} pos @param {number} d @param {number} dModel
 */
export function sinusoid(pos, d, dModel) {
  const angle = positionAngle(pos, d, dModel);
  return d % 2 ? Math.cos(angle) : Math.sin(angle);
}

/**
 * pos / 10000^(2i/d_model), of the pair that dimension d is in.
 * @param {number} pos @param {number} d @param {number} dModel
 */
export const positionAngle = (pos, d, dModel) => pos / 10000 ** ((d - (d % 2)) / dModel);

/** The largest difference between a table and the formula. @param {Matrix} table */
export function gapToFormula({ shape: [rows, cols], data }) {
  let gap = 0;
  for (let pos = 0; pos < rows; pos++) {
    for (let d = 0; d < cols; d++) gap = Math.max(gap, Math.abs(sinusoid(pos, d, cols) - data[pos * cols + d]));
  }
  return gap;
}

/** The mean of a diagonal, and the range of its entries. @param {Matrix} square @param {number} distance */
export function diagonal({ shape: [n], data }, distance) {
  let [sum, low, high] = [0, Infinity, -Infinity];
  for (let i = 0; i + distance < n; i++) {
    const one = data[i * n + i + distance];
    sum += one;
    low = Math.min(low, one);
    high = Math.max(high, one);
  }
  return { mean: sum / (n - distance), spread: high - low };
}
