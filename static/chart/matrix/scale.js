/** From numbers to colours, and the legend that shows the scale. */

import { h } from "../../ui/dom.js";
import { rampStops, rgbaAt } from "../theme.js";

/**
 * @typedef {Object} Scale
 * @property {string[]} stops  evenly spaced from `min` to `max`
 * @property {number} min
 * @property {number} max
 * @property {[number, number]} seen  the smallest and the largest value there is
 * @property {[string, string]} [ends]  words for `min` and `max`, where these numbers mean nothing
 * @property {boolean} [steps]  no mixing: one colour for each whole number
 */

/** Of a ramp, as much as those keep that did not change where a difference is shown. */
export const PALE = 0.4;

/** From 0 to 1: of weights, and of `rowTones`. @returns {Scale} */
export function weightScale() {
  return { stops: rampStops("weights"), min: 0, max: 1, seen: [0, 1] };
}

/**
 * Signed values: symmetric around 0, so that equal sizes have equally strong colours.
 * @param {Float32Array} values @param {"signed"|"q"|"k"|"v"} ramp
 * @param {number} least  the least range, so that rounding errors stay pale @returns {Scale}
 */
export function signedScale(values, ramp = "signed", least = 0) {
  const seen = extremes(values);
  const reach = Math.max(Math.abs(seen[0]), Math.abs(seen[1]), least) || 1; // all zeros: any range will do
  return { stops: rampStops(ramp), min: -reach, max: reach, seen };
}

/** Sizes, from 0 to `most`; without it, to the largest. @param {Float32Array} values @param {number} [most] @returns {Scale} */
export function sizeScale(values, most) {
  const seen = extremes(values);
  return { ...weightScale(), max: most ?? (seen[1] || 1), seen };
}

/**
 * The place of each value between the lowest (0) and the highest (1) allowed value of its row, because a softmax depends
 * only on differences within a row. In a row of equal values, all are highest.
 * @param {ArrayLike<number>} values @param {number[]} shape  rows, columns @param {ArrayLike<number>|null} forbidden  not 0
 */
export function rowTones(values, [rows, cols], forbidden) {
  const tones = new Float32Array(rows * cols);
  for (let row = 0; row < rows; row++) {
    const cells = Array.from({ length: cols }, (_, col) => row * cols + col).filter((at) => !forbidden?.[at]);
    const [low, high] = extremes(cells.map((at) => values[at]));
    for (const at of cells) tones[at] = high > low ? (values[at] - low) / (high - low) : 1;
  }
  return tones;
}

/** Paler, for what did not change where a difference is shown. @param {Scale} scale @returns {Scale} */
export const paleScale = ({ min, max, ...scale }) => ({ ...scale, min: min / PALE, max: max / PALE });

/** The smallest and the largest. @param {ArrayLike<number>} values @returns {[number, number]} */
function extremes(values) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return [low, high];
}

/** The colour of one value, with its opacity. @param {Pick<Scale, "stops"|"min"|"max"|"steps">} scale @param {number} value */
export function colourAt({ stops, min, max, steps }, value) {
  const place = Math.min(1, Math.max(0, (value - min) / (max - min))) * (stops.length - 1);
  return rgbaAt(stops, steps ? Math.round(place) : place);
}

/**
 * The used part of the scale as CSS; stops may be below 0 % or above 100 %.
 * @param {Scale} scale @returns {string}
 */
function gradientOf({ stops, min, max, seen: [low, high] }) {
  if (low === high) [low, high] = [min, max];
  const place = (/** @type {number} */ i) => (min + (i / (stops.length - 1)) * (max - min) - low) / (high - low);
  return `linear-gradient(90deg, ${stops.map((stop, i) => `${stop} ${(place(i) * 100).toFixed(3)}%`).join(", ")})`;
}

/**
 * Smallest, colours, largest; with a notch at 0 if 0 is inside; and the hatching, if some cells are forbidden.
 * @param {Scale} scale
 * @param {{number: (value: number) => string, forbidden?: string|null}} words
 */
export function scaleLegend(scale, { number, forbidden }) {
  const [low, high] = scale.seen;
  const [from, to] = scale.ends ?? [number(low), number(high)];
  const zero = low < 0 && high > 0 ? `${((-low / (high - low)) * 100).toFixed(3)}%` : null;
  const ramp = h("span", { class: zero ? "ramp zero" : "ramp", style: { background: gradientOf(scale) } });
  if (zero) ramp.style.setProperty("--zero", zero);
  const hatch = forbidden && [h("span", { class: "hatch" }), h("span", null, forbidden)];
  return h(
    "span",
    { class: "legend", dataset: { testid: "legend", low, high } },
    h("span", null, from),
    ramp,
    h("span", null, to),
    hatch,
  );
}
