/** A few lines over the layers, on a logarithmic axis; a table beside it has the numbers. */

import { svg } from "../../ui/dom.js";
import { power } from "../../ui/format.js";
import { axisOf, charts, gridOf, hereOf, pathOf } from "./chart.js";

/** @import { Box } from "./chart.js" */

/**
 * @typedef {Object} Chart
 * @property {string} label  a description for screen readers
 * @property {string[]} steps  the labels of the axis
 * @property {string} title  of that axis
 * @property {{name: string, values: number[]}[]} lines  the first solid with dots, the second dashed with squares; 0 has no place here
 * @property {number} chosen  the step that is marked
 * @property {(step: number) => void} onChoose
 */

/** @type {(root: HTMLElement, chart: Chart) => void} */
export const drawLayerChart = charts({
  look: "line-chart",
  margin: { left: 62, right: 14, top: 12, bottom: 40 },
  height: () => 230,
  paint,
  choose(/** @type {Chart} */ { steps, onChoose }, x) {
    onChoose(Math.max(0, Math.min(steps.length - 1, Math.round(x * (steps.length - 1)))));
  },
});

/** @param {Chart} chart @param {Box} box */
function paint({ steps, title, lines, chosen }, box) {
  const decades = decadesOf(lines);
  const x = (i) => box.left + (i / Math.max(1, steps.length - 1)) * (box.right - box.left);
  const y = (value) =>
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

/** Whole powers of ten around everything that is above 0. @param {Chart["lines"]} lines */
function decadesOf(lines) {
  const all = lines.flatMap(({ values }) => values.filter((value) => value > 0)).map(Math.log10);
  if (!all.length) return { low: -1, high: 0 };
  const low = Math.floor(Math.min(...all));
  return { low, high: Math.max(low + 1, Math.ceil(Math.max(...all))) };
}

/** Each power of ten, or as many as fit; within two powers also 2 and 5. */
function ticksOf({ low, high }) {
  const step = Math.max(1, Math.ceil((high - low) / 7));
  const ticks = [];
  for (let at = low; at <= high; at += step) ticks.push(10 ** at);
  if (high - low <= 2) for (let at = low; at < high; at++) ticks.push(2 * 10 ** at, 5 * 10 ** at);
  return ticks;
}

const wordOf = (tick) => (tick >= 1e-3 && tick < 1e5 ? String(Number(tick.toPrecision(1))) : power(tick));

/** Solid with dots, or dashed with squares: lines do not differ by colour alone. */
function lineOf({ values }, i, x, y) {
  const points = values.map((value, step) =>
    value > 0 ? /** @type {[number, number]} */ ([x(step), y(value)]) : null,
  );
  const marks = points.map((point) => point && markOf(i, point));
  return svg("g", { class: `line line-${i}` }, svg("path", { d: pathOf(points) }), marks);
}

function markOf(i, [x, y]) {
  return i === 0 ? svg("circle", { cx: x, cy: y, r: 4 }) : svg("rect", { x: x - 3.5, y: y - 3.5, width: 7, height: 7 });
}
