/** The axes of a curve: from a number to a place, and round numbers to write at it. Pure. */

/** @typedef {{place: (value: number) => number, ticks: number[]}} Axis  `place`: 0 to 1 */

/** From `low` to `high`, with about `n` round numbers between. @param {number} low @param {number} high @param {number} [n] @returns {Axis} */
export function linear(low, high, n = 4) {
  const width = high - low || 1;
  const step = roundStep(width / n);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) + 0; tick * step <= high + 1e-9 * width; tick++) ticks.push(tick * step);
  return { place: (value) => (value - low) / width, ticks };
}

/** Steps from 0 on, early ones wider apart: log(1 + step). @param {number} last @returns {Axis} */
export function early(last) {
  const ticks = [0];
  for (let tick = 1; tick < last / 3; tick *= 10) ticks.push(tick);
  return { place: (value) => Math.log1p(value) / Math.log1p(last || 1), ticks: [...ticks, last] };
}

/** 1, 2 or 5 times a power of ten, at least so large. @param {number} size */
export function roundStep(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= size * (1 - 1e-9)) ?? 10 * power;
}
