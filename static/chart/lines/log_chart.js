/** Curves over two logarithmic axes, as SVG, each named at its end; a table beside it has the numbers. */

import { perRoot, replace, svg, update } from "../../ui/dom.js";

const HEIGHT = 380;
const MARGIN = { left: 80, right: 96, top: 26, bottom: 44 };
/** Between two names. */
const APART = 15;

/**
 * @typedef {{x: number, y: number}} Point
 * @typedef {{name: string, look: string, dots?: boolean, points: Point[]}} Curve  `look`: its class
 * @typedef {Object} Chart
 * @property {string} label  a description for screen readers
 * @property {[number, number]} across  the lowest and the highest x
 * @property {[number, number]} up  the lowest and the highest y; whole powers of ten around them are drawn
 * @property {number[]} ticks  of x
 * @property {{x: string, y: string}} titles
 * @property {(y: number) => string} word  of a power of ten on the y axis
 * @property {Curve[]} curves  the last is on top
 * @property {{x: number, name: string, look: string}[]} marks
 */

const partsOf = perRoot((root) => {
  const picture = svg("svg", { class: "log-chart", role: "img" });
  root.append(picture);
  const parts = { root, picture, chart: /** @type {Chart|null} */ (null), width: 0 };
  new ResizeObserver(() => parts.chart && root.clientWidth !== parts.width && paint(parts)).observe(root);
  return parts;
});

/** @param {HTMLElement} root @param {Chart} chart */
export function drawLogChart(root, chart) {
  const parts = partsOf(root);
  parts.chart = chart;
  update(parts.picture, { "aria-label": chart.label });
  paint(parts);
}

function paint(parts) {
  const { root, picture, chart } = parts;
  parts.width = root.clientWidth;
  if (!parts.width) return; // it is hidden
  const height = Math.min(HEIGHT, Math.max(280, 0.7 * parts.width));
  update(picture, { width: parts.width, height, viewBox: `0 0 ${parts.width} ${height}` });
  const at = scaleOf(chart, parts.width, height);
  replace(
    picture,
    gridOf(chart, at),
    chart.marks.map((mark) => markOf(mark, at)),
    chart.curves.map((curve) => curveOf(curve, at)),
    namesOf(chart.curves, at),
  );
}

/** @param {Chart} chart @param {number} width @param {number} height */
function scaleOf({ across, up }, width, height) {
  const [right, bottom] = [width - MARGIN.right, height - MARGIN.bottom];
  const [low, high] = [
    Math.floor(Math.log10(up[0])),
    Math.max(Math.floor(Math.log10(up[0])) + 1, Math.ceil(Math.log10(up[1]))),
  ];
  const part = (value, [from, to]) => Math.log(value / from) / Math.log(to / from);
  return {
    right,
    bottom,
    low,
    high,
    x: (value) => MARGIN.left + part(value, across) * (right - MARGIN.left),
    y: (value) => bottom - ((Math.log10(value) - low) / (high - low)) * (bottom - MARGIN.top),
  };
}

/** @param {Chart} chart @param {ReturnType<typeof scaleOf>} at */
function gridOf({ ticks, titles, word }, { x, y, low, high, right, bottom }) {
  const every = Math.max(1, Math.ceil((high - low) / 7));
  const powers = Array.from({ length: Math.floor((high - low) / every) + 1 }, (_, i) => 10 ** (low + i * every));
  const middle = (MARGIN.top + bottom) / 2;
  return [
    powers.map((value) => [
      svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" }, word(value)),
    ]),
    ticks
      .filter((_, i) => right > 500 || i % 2 === 0)
      .map((value) => svg("text", { x: x(value), y: bottom + 16, "text-anchor": "middle" }, String(value))),
    svg("text", { class: "axis", x: (MARGIN.left + right) / 2, y: bottom + 34, "text-anchor": "middle" }, titles.x),
    svg(
      "text",
      { class: "axis", x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${middle}) rotate(-90)` },
      titles.y,
    ),
  ];
}

function markOf({ x, name, look }, at) {
  const here = at.x(x);
  return svg(
    "g",
    { class: `mark ${look}` },
    svg("line", { x1: here, x2: here, y1: MARGIN.top, y2: at.bottom }),
    svg("text", { x: here + 4, y: MARGIN.top - 8 }, name),
  );
}

function curveOf({ look, dots, points }, { x, y }) {
  const path = points.map((point, i) => `${i ? "L" : "M"}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`).join("");
  const round = dots ? points.map((point) => svg("circle", { cx: x(point.x), cy: y(point.y), r: 2.5 })) : [];
  return svg("g", { class: `curve ${look}` }, svg("path", { d: path }), round);
}

/** Each at its curve's end, moved down as far as the one above needs. */
function namesOf(curves, { x, y, bottom }) {
  const ends = curves
    .filter(({ points }) => points.length)
    .map(({ name, look, points }) => ({
      name,
      look,
      x: x(points[points.length - 1].x),
      y: y(points[points.length - 1].y),
    }))
    .sort((a, b) => a.y - b.y);
  const places = spread(
    ends.map((end) => end.y),
    APART,
    bottom,
  );
  return ends.map(({ name, look, x }, i) => svg("text", { class: `name ${look}`, x: x + 7, y: places[i] + 4 }, name));
}

/**
 * Places at least `apart` from each other, in their order, as near as that allows to where they want to be.
 * @param {number[]} wishes  rising @param {number} apart @param {number} lowest  none lies below it
 */
export function spread(wishes, apart, lowest) {
  const places = [];
  for (const wish of wishes) places.push(Math.max(wish, (places.at(-1) ?? -Infinity) + apart));
  for (let i = places.length - 1, limit = lowest; i >= 0; i--, limit = places[i + 1] - apart)
    places[i] = Math.min(places[i], limit);
  return places;
}
