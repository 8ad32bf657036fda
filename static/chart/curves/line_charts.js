/**
 * A few curves over training steps (a loss, a learning rate) or over the layers; their numbers are shown next to them.
 */

import { svg } from "../../ui/dom.js";
import { integer, power, significant } from "../../ui/format.js";
import { axisOf, charts, curvePath, early, gridOf, hereOf, linear } from "./chart.js";

/** @import { Box, Place } from "./chart.js" */

// A few lines over the layers, on a logarithmic axis; a table next to it has the numbers.

/**
 * @typedef {Object} LayerChart
 * @property {string} label  a description for screen readers
 * @property {string[]} steps  the labels of the axis
 * @property {string} title  of that axis
 * @property {{name: string, values: number[]}[]} lines  the first solid with dots, the second dashed with squares; 0 has no place here
 * @property {number} chosen  the step that is marked
 * @property {(step: number) => void} onChoose
 */

/** @type {(root: HTMLElement, chart: LayerChart) => void} */
export const drawLayerChart = charts({
  look: "line-chart",
  margin: { left: 62, right: 14, top: 12, bottom: 40 },
  height: () => 230,
  paint: paintLayers,
  choose(/** @type {LayerChart} */ { steps, onChoose }, x) {
    onChoose(Math.max(0, Math.min(steps.length - 1, Math.round(x * (steps.length - 1)))));
  },
});

/** @param {LayerChart} chart @param {Box} box */
function paintLayers({ steps, title, lines, chosen }, box) {
  const decades = decadesOf(lines);
  const x = (/** @type {number} */ i) => box.left + (i / Math.max(1, steps.length - 1)) * (box.right - box.left);
  const y = (/** @type {number} */ value) =>
    box.bottom - ((Math.log10(value) - decades.low) / (decades.high - decades.low)) * (box.bottom - box.top);
  return [
    gridOf(ticksOf(decades), y, wordOf, box),
    hereOf(x(chosen), box),
    axisOf(
      steps.map((name, i) => ({ x: x(i), name })),
      title,
      box,
    ),
    lines.map((line, i) => lineOf(line, i, x, y)),
  ];
}

/** Whole powers of ten around everything that is above 0. @param {LayerChart["lines"]} lines */
function decadesOf(lines) {
  const all = lines.flatMap(({ values }) => values.filter((value) => value > 0)).map(Math.log10);
  if (!all.length) return { low: -1, high: 0 };
  const low = Math.floor(Math.min(...all));
  return { low, high: Math.max(low + 1, Math.ceil(Math.max(...all))) };
}

/** Each power of ten, or as many as fit; within two powers also 2 and 5. @param {{low: number, high: number}} decades */
function ticksOf({ low, high }) {
  const step = Math.max(1, Math.ceil((high - low) / 7));
  const ticks = [];
  for (let at = low; at <= high; at += step) ticks.push(10 ** at);
  if (high - low <= 2) for (let at = low; at < high; at++) ticks.push(2 * 10 ** at, 5 * 10 ** at);
  return ticks;
}

/** @param {number} tick */
const wordOf = (tick) => (tick >= 1e-3 && tick < 1e5 ? String(Number(tick.toPrecision(1))) : power(tick));

/** Solid with dots, or dashed with squares: lines do not differ by colour alone. @param {LayerChart["lines"][number]} line @param {number} i @param {Place} x @param {Place} y */
function lineOf({ values }, i, x, y) {
  const points = values.map((value, step) =>
    value > 0 ? /** @type {[number, number]} */ ([x(step), y(value)]) : null,
  );
  const marks = points.map((point) => point && markOf(i, point));
  return svg("g", { class: `line line-${i}` }, svg("path", { d: curvePath(points) }), marks);
}

/** @param {number} i @param {[number, number]} point */
function markOf(i, [x, y]) {
  return i === 0 ? svg("circle", { cx: x, cy: y, r: 4 }) : svg("rect", { x: x - 3.5, y: y - 3.5, width: 7, height: 7 });
}

const MARGIN = { left: 58, right: 26, top: 12, bottom: 38 };
/** The least distance between the middles of two numbers below the axis, in pixels. */
const APART = 52;

/**
 * @typedef {Object} StepChart
 * @property {string} label  a description for screen readers
 * @property {[number, number][][]} lines  points; the second is dashed
 * @property {boolean} early  whether early steps are wider apart
 * @property {number} last  the last step of the axis
 * @property {string} title  of that axis
 * @property {[number, number][]} [dots]  places with a dot
 * @property {number|null} [at]  the step that is marked
 * @property {(step: number) => void} [onChoose]  of the nearest dot
 * @property {number} [height]
 * @property {number} [floor]  the lowest value of the other axis; by default the lowest of the lines
 */

/** @type {(root: HTMLElement, chart: StepChart) => void} */
export const drawStepChart = charts({
  look: "line-chart step-curve",
  margin: MARGIN,
  height: (chart) => chart.height ?? 200,
  paint: paintSteps,
  choose: chooseStep,
});

/** @param {StepChart} chart */
const stepsOf = (chart) => (chart.early ? early(chart.last) : linear(0, chart.last));

/** @param {StepChart} chart @param {number} x */
function chooseStep(chart, x) {
  const { place } = stepsOf(chart);
  const far = (/** @type {[number, number]} */ [step]) => Math.abs(place(step) - x);
  const nearest = [...(chart.dots ?? [])].sort((a, b) => far(a) - far(b))[0];
  if (nearest) chart.onChoose?.(nearest[0]);
}

/** @param {StepChart} chart @param {Box} box */
function paintSteps(chart, box) {
  const { lines, dots = [], at = null, last, title, floor } = chart;
  const values = [...lines.flat(), ...dots].map(([, value]) => value);
  const [steps, high] = [stepsOf(chart), linear(floor ?? Math.min(...values), Math.max(...values))];
  const x = (/** @type {number} */ step) => box.left + steps.place(step) * (box.right - box.left);
  const y = (/** @type {number} */ value) => box.bottom - high.place(value) * (box.bottom - box.top);
  const pixels = (/** @type {[number, number]} */ [step, value]) =>
    /** @type {[number, number]} */ ([x(step), y(value)]);
  const ticks = apart([...new Set([...steps.ticks, last])], x);
  return [
    gridOf(high.ticks, y, (tick) => significant(tick, 2), box),
    at !== null && hereOf(x(at), box),
    axisOf(
      ticks.map((tick) => ({ x: x(tick), name: integer(tick) })),
      title,
      box,
    ),
    lines.map((line, i) => svg("g", { class: `line line-${i}` }, svg("path", { d: curvePath(line.map(pixels)) }))),
    svg(
      "g",
      { class: "line line-0" },
      dots.map(([step, value]) => svg("circle", { cx: x(step), cy: y(value), r: step === at ? 6 : 4 })),
    ),
  ];
}

/** The ticks whose numbers do not touch, including the last tick. @param {number[]} ticks @param {(step: number) => number} x */
function apart(ticks, x) {
  const kept = /** @type {number[]} */ ([]);
  for (const tick of [...ticks].reverse()) if (!kept.length || x(kept[0]) - x(tick) > APART) kept.unshift(tick);
  return kept;
}
