/** What the charts of curves share: an SVG as wide as its place, and its axes: scales with round numbers, grid, names and title. */

import { perRoot, replace, svg, update } from "../../ui/dom.js";
import { announce } from "../pictures.js";

/**
 * @import { Child } from "../../ui/dom.js"
 * @import { Drawn, Picture } from "../pictures.js"
 */

/** @typedef {{place: (value: number) => number, ticks: number[]}} Axis  `place`: 0 to 1 */

/** From `low` to `high`, with about `n` round numbers between. @param {number} low @param {number} high @param {number} [n] @returns {Axis} */
export function linear(low, high, n = 4) {
  const width = high - low || 1;
  const step = roundStep(width / n);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) + 0; tick * step <= high + 1e-9 * width; tick++) ticks.push(tick * step);
  return { place: (value) => (value - low) / width, ticks };
}

/** Steps from 0, with early ones further apart: log(1 + step). @param {number} last @returns {Axis} */
export function early(last) {
  const ticks = [0];
  for (let tick = 1; tick < last / 3; tick *= 10) ticks.push(tick);
  return { place: (value) => Math.log1p(value) / Math.log1p(last || 1), ticks: [...ticks, last] };
}

/** The smallest of 1, 2 or 5 times a power of ten that is at least `size`. @param {number} size */
export function roundStep(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= size * (1 - 1e-9)) ?? 10 * power;
}

/**
 * @typedef {{left: number, right: number, top: number, bottom: number, width: number}} Box  where the curves lie, in CSS pixels
 * @typedef {(place: number) => number} Place  from a value to pixels
 */

/**
 * Makes the function that draws one kind of chart, and redraws it when the width of its place changes.
 * @template {{label: string}} C  `label`: a description for screen readers
 * @param {Object} kind
 * @param {string} kind.look  the class of the SVG
 * @param {{left: number, right: number, top: number, bottom: number}} kind.margin
 * @param {(chart: C, width: number) => number} kind.height
 * @param {(chart: C, box: Box) => Child} kind.paint
 * @param {(chart: C) => Drawn} [kind.saved]  what a file of it says; without it, the chart cannot be saved
 * @param {(chart: C, x: number) => void} [kind.choose]  a click at x: 0 is the left end of the curves, 1 the right one
 * @returns {(root: HTMLElement, chart: C) => void}
 */
export function charts({ look, margin, height, paint, saved, choose }) {
  const chartParts = perRoot((root) => {
    const picture = svg("svg", { class: look, role: "img" });
    root.append(picture);
    const parts = { root, picture, chart: /** @type {C|null} */ (null), width: 0 };
    const read = () => (parts.chart && parts.width ? contentOf(parts.chart, picture) : null);
    if (saved) announce(picture, read);
    if (choose) picture.addEventListener("click", ({ clientX }) => parts.chart && choose(parts.chart, across(clientX)));
    new ResizeObserver(() => parts.chart && root.clientWidth !== parts.width && repaint(parts)).observe(root);
    return parts;

    /** @param {number} clientX */
    function across(clientX) {
      const { left, right } = boxOf(parts.width, 0);
      return (clientX - picture.getBoundingClientRect().left - left) / (right - left);
    }
  });
  /** @param {C} chart @param {SVGSVGElement} plot @returns {Picture|null} */
  const contentOf = (chart, plot) => (saved ? { kind: "drawn", content: saved(chart), plot } : null);
  const boxOf = (/** @type {number} */ width, /** @type {number} */ high) => ({
    left: margin.left,
    right: width - margin.right,
    top: margin.top,
    bottom: high - margin.bottom,
    width,
  });

  /** @param {ReturnType<typeof chartParts>} parts */
  function repaint(parts) {
    const { root, picture, chart } = parts;
    const width = root.clientWidth;
    parts.width = width;
    if (!width || !chart) return; // it is hidden
    const high = height(chart, width);
    update(picture, { "aria-label": chart.label, width, height: high, viewBox: `0 0 ${width} ${high}` });
    replace(picture, paint(chart, boxOf(width, high)));
  }

  return (root, chart) => {
    const parts = chartParts(root);
    parts.chart = chart;
    repaint(parts);
  };
}

/** A horizontal line at each value, with the value at its left. @param {number[]} values @param {Place} y @param {(value: number) => string} word @param {Box} box */
export const gridOf = (values, y, word, { left, right }) =>
  values.map((value) => [
    svg("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, word(value)),
  ]);

/** The names of places below the axis, and the axis title. @param {{x: number, name: string}[]} names @param {string} title @param {Box} box */
export const axisOf = (names, title, { left, right, bottom }) => [
  names.map(({ x, name }) => svg("text", { x, y: bottom + 17, "text-anchor": "middle" }, name)),
  svg("text", { class: "axis", x: (left + right) / 2, y: bottom + 33, "text-anchor": "middle" }, title),
];

/** A vertical line. @param {number} x @param {Box} box */
export const hereOf = (x, { top, bottom }) => svg("line", { class: "here", x1: x, x2: x, y1: top, y2: bottom });

/** Through points in pixels; null: the line is broken there. @param {([number, number]|null)[]} points */
export const curvePath = (points) =>
  points
    .map((point, i) => point && `${points[i - 1] ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`)
    .filter(Boolean)
    .join("");
