/** Curves over training steps, with places that can be chosen: a loss, a learning rate. Their numbers stand beside them. */

import { svg } from "../../ui/dom.js";
import { integer, significant } from "../../ui/format.js";
import { axisOf, charts, gridOf, hereOf, pathOf } from "./chart.js";
import { early, linear } from "./scale.js";

/** @import { Box } from "./chart.js" */

const MARGIN = { left: 58, right: 26, top: 12, bottom: 38 };
/** Between the middles of two numbers below. */
const APART = 52;

/**
 * @typedef {Object} Chart
 * @property {string} label  a description for screen readers
 * @property {[number, number][][]} lines  points; the second is dashed
 * @property {boolean} early  whether early steps are wider apart
 * @property {number} last  the last step of the axis
 * @property {string} title  of that axis
 * @property {[number, number][]} [dots]  places with a dot
 * @property {number|null} [at]  the step that is marked
 * @property {(step: number) => void} [onChoose]  of the nearest dot
 * @property {number} [height]
 * @property {number} [floor]  the lowest value of the other axis; by default the lowest there is
 */

/** @type {(root: HTMLElement, chart: Chart) => void} */
export const drawStepChart = charts({
  look: "line-chart step-curve",
  margin: MARGIN,
  height: (chart) => chart.height ?? 200,
  paint,
  choose,
});

const stepsOf = (chart) => (chart.early ? early(chart.last) : linear(0, chart.last));

/** @param {Chart} chart @param {number} x */
function choose(chart, x) {
  const { place } = stepsOf(chart);
  const far = (/** @type {[number, number]} */ [step]) => Math.abs(place(step) - x);
  const nearest = [...(chart.dots ?? [])].sort((a, b) => far(a) - far(b))[0];
  if (nearest) chart.onChoose?.(nearest[0]);
}

/** @param {Chart} chart @param {Box} box */
function paint(chart, box) {
  const { lines, dots = [], at = null, last, title, floor } = chart;
  const values = [...lines.flat(), ...dots].map(([, value]) => value);
  const [steps, high] = [stepsOf(chart), linear(floor ?? Math.min(...values), Math.max(...values))];
  const x = (step) => box.left + steps.place(step) * (box.right - box.left);
  const y = (value) => box.bottom - high.place(value) * (box.bottom - box.top);
  const pixels = ([step, value]) => /** @type {[number, number]} */ ([x(step), y(value)]);
  const ticks = apart([...new Set([...steps.ticks, last])], x);
  return [
    gridOf(high.ticks, y, (tick) => significant(tick, 2), box),
    at !== null && hereOf(x(at), box),
    axisOf(
      ticks.map((tick) => ({ x: x(tick), name: integer(tick) })),
      title,
      box,
    ),
    lines.map((line, i) => svg("g", { class: `line line-${i}` }, svg("path", { d: pathOf(line.map(pixels)) }))),
    svg(
      "g",
      { class: "line line-0" },
      dots.map(([step, value]) => svg("circle", { cx: x(step), cy: y(value), r: step === at ? 6 : 4 })),
    ),
  ];
}

/** Those whose numbers do not touch, the last one among them. @param {number[]} ticks @param {(step: number) => number} x */
function apart(ticks, x) {
  const kept = /** @type {number[]} */ ([]);
  for (const tick of [...ticks].reverse()) if (!kept.length || x(kept[0]) - x(tick) > APART) kept.unshift(tick);
  return kept;
}
