/**
 * Curves over logarithmic axes (y may be linear), as SVG, each named at its end; a table next to it has the numbers.
 */

import { svg } from "../../ui/dom.js";
import { widthOf } from "../theme.js";
import { axisOf, charts, curvePath, gridOf, linear } from "./chart.js";

/** @import { Axis, Box } from "./chart.js" */

const MARGIN = { left: 80, right: 118, top: 26, bottom: 44 };

/** The least distance between two names, in pixels. */
const APART = 15;

/**
 * @typedef {{x: number, y: number}} Point
 * @typedef {{name: string, look: string, dots?: boolean, points: Point[]}} Curve  `look`: its class
 * @typedef {Object} Chart
 * @property {string} id  of its files
 * @property {string} title
 * @property {string} label  a description for screen readers
 * @property {[number, number]} across  the lowest and the highest x
 * @property {[number, number]} up  the lowest and the highest y; whole powers of ten around them are drawn
 * @property {boolean} [even]  y is linear: between them, with round numbers
 * @property {number[]} ticks  of x
 * @property {{x: string, y: string}} titles
 * @property {(y: number) => string} word  of a number on the y axis
 * @property {Curve[]} curves  the last is on top
 * @property {{x: number, name: string, look: string}[]} marks
 */

/** @type {(root: HTMLElement, chart: Chart) => void} */
export const drawLogChart = charts({
  look: "log-chart",
  margin: MARGIN,
  height: (_, width) => Math.min(380, Math.max(280, 0.7 * width)),
  paint,
  saved: ({ id, title, label, ...chart }) => ({ id, title, label, legend: "", table: curveTable(chart) }),
});

/** A row for each x, a column for each curve. @param {Pick<Chart, "curves"|"titles">} chart @returns {(string|number)[][]} */
export function curveTable({ curves, titles }) {
  const all = [...new Set(curves.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const at = (/** @type {Curve} */ { points }, /** @type {number} */ x) =>
    points.find((point) => point.x === x)?.y ?? "";
  return [[titles.x, ...curves.map(({ name }) => name)], ...all.map((x) => [x, ...curves.map((one) => at(one, x))])];
}

/** @param {Chart} chart @param {Box} box */
function paint(chart, box) {
  const at = scaleOf(chart, box);
  return [
    axesOf(chart, at, box),
    chart.marks.map((mark) => markOf(mark, at, box)),
    chart.curves.map((curve) => curveOf(curve, at)),
    namesOf(chart.curves, at, box),
  ];
}

/** @param {Chart} chart @param {Box} box */
function scaleOf({ across: [from, to], up, even }, { left, right, top, bottom }) {
  const { place, ticks } = even ? linear(...up, 6) : powersOf(up);
  return {
    ticks,
    x: (/** @type {number} */ value) => left + (Math.log(value / from) / Math.log(to / from)) * (right - left),
    y: (/** @type {number} */ value) => bottom - place(value) * (bottom - top),
  };
}

/** An axis from one power of ten to another, with at most 8 of them labelled. @param {[number, number]} up @returns {Axis} */
function powersOf(up) {
  const low = Math.floor(Math.log10(up[0]));
  const high = Math.max(low + 1, Math.ceil(Math.log10(up[1])));
  const every = Math.max(1, Math.ceil((high - low) / 7));
  const ticks = Array.from({ length: Math.floor((high - low) / every) + 1 }, (_, i) => 10 ** (low + i * every));
  return { place: (value) => (Math.log10(value) - low) / (high - low), ticks };
}

/** @param {Chart} chart @param {ReturnType<typeof scaleOf>} at @param {Box} box */
function axesOf({ ticks: across, titles, word }, { x, y, ticks }, box) {
  const shown = across.filter((_, i) => box.right > 500 || i % 2 === 0);
  const turned = `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`;
  return [
    gridOf(ticks, y, word, box),
    axisOf(
      shown.map((value) => ({ x: x(value), name: String(value) })),
      titles.x,
      box,
    ),
    svg("text", { class: "axis", x: 0, y: 0, "text-anchor": "middle", transform: turned }, titles.y),
  ];
}

/** @param {Chart["marks"][number]} mark @param {ReturnType<typeof scaleOf>} at @param {Box} box */
function markOf({ x, name, look }, at, { top, bottom, right }) {
  const here = at.x(x);
  const last = right + MARGIN.right - widthOf(name, 12); // on a phone a long name begins before its line
  return svg(
    "g",
    { class: `mark ${look}` },
    svg("line", { x1: here, x2: here, y1: top, y2: bottom }),
    svg("text", { x: Math.max(0, Math.min(here + 4, last)), y: top - 8 }, name),
  );
}

/** @param {Curve} curve @param {ReturnType<typeof scaleOf>} at */
function curveOf({ look, dots, points }, { x, y }) {
  const round = dots ? points.map((point) => svg("circle", { cx: x(point.x), cy: y(point.y), r: 2.5 })) : [];
  return svg(
    "g",
    { class: `curve ${look}` },
    svg("path", { d: curvePath(points.map((at) => [x(at.x), y(at.y)])) }),
    round,
  );
}

/** The names, each at its curve's end, moved down if the one above needs the space. @param {Curve[]} curves @param {ReturnType<typeof scaleOf>} at @param {Box} box */
function namesOf(curves, { x, y }, { bottom }) {
  const ends = curves
    .filter(({ points }) => points.length)
    .map(({ name, look, points }) => ({
      name,
      look,
      x: x(points[points.length - 1].x),
      y: y(points[points.length - 1].y),
    }))
    .sort((a, b) => a.y - b.y);
  const places = spreadApart(
    ends.map((end) => end.y),
    APART,
    bottom,
  );
  return ends.map(({ name, look, x }, i) => svg("text", { class: `name ${look}`, x: x + 7, y: places[i] + 4 }, name));
}

/**
 * Places at least `apart` from each other, in the order of `wishes` and as near to them as possible.
 * @param {number[]} wishes  rising @param {number} apart @param {number} lowest  none lies below it
 */
export function spreadApart(wishes, apart, lowest) {
  const places = /** @type {number[]} */ ([]);
  for (const wish of wishes) places.push(Math.max(wish, (places.at(-1) ?? -Infinity) + apart));
  for (let i = places.length - 1, limit = lowest; i >= 0; i--, limit = places[i + 1] - apart)
    places[i] = Math.min(places[i], limit);
  return places;
}
