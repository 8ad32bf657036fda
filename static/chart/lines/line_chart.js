/** A few lines over the same steps, on a logarithmic axis, as SVG; a table beside it has the numbers. */

import { perRoot, replace, svg, update } from "../../ui/dom.js";
import { power } from "../../ui/format.js";

const HEIGHT = 230;
const MARGIN = { left: 62, right: 14, top: 12, bottom: 40 };

/**
 * @typedef {Object} Chart
 * @property {string} label  a description for screen readers
 * @property {string[]} steps  the labels of the axis
 * @property {string} title  of that axis
 * @property {{name: string, values: number[]}[]} lines  the first solid with dots, the second dashed with squares; 0 has no place here
 * @property {number} chosen  the step that is marked
 * @property {(step: number) => void} onChoose
 */

const partsOf = perRoot((root) => {
  const picture = svg("svg", { class: "line-chart", role: "img" });
  root.append(picture);
  const parts = { root, picture, chart: /** @type {Chart|null} */ (null), width: 0 };
  picture.addEventListener("click", ({ clientX }) => parts.chart?.onChoose(stepAt(parts, clientX)));
  new ResizeObserver(() => parts.chart && root.clientWidth !== parts.width && paint(parts)).observe(root);
  return parts;
});

/** @param {HTMLElement} root @param {Chart} chart */
export function drawLineChart(root, chart) {
  const parts = partsOf(root);
  parts.chart = chart;
  update(parts.picture, { "aria-label": chart.label });
  paint(parts);
}

function stepAt({ picture, chart, width }, clientX) {
  const inside = clientX - picture.getBoundingClientRect().left - MARGIN.left;
  const step = Math.round((inside / (width - MARGIN.left - MARGIN.right)) * (chart.steps.length - 1));
  return Math.max(0, Math.min(chart.steps.length - 1, step));
}

function paint(parts) {
  const { root, picture, chart } = parts;
  parts.width = root.clientWidth;
  if (!parts.width) return; // it is hidden
  update(picture, { width: parts.width, height: HEIGHT, viewBox: `0 0 ${parts.width} ${HEIGHT}` });
  const decades = decadesOf(chart.lines);
  const [right, bottom] = [parts.width - MARGIN.right, HEIGHT - MARGIN.bottom];
  const x = (i) => MARGIN.left + (i / Math.max(1, chart.steps.length - 1)) * (right - MARGIN.left);
  const y = (value) =>
    bottom - ((Math.log10(value) - decades.low) / (decades.high - decades.low)) * (bottom - MARGIN.top);
  const here = svg("line", { class: "here", x1: x(chart.chosen), x2: x(chart.chosen), y1: MARGIN.top, y2: bottom });
  replace(
    picture,
    gridOf(decades, y, right),
    here,
    axisOf(chart, x, bottom, right),
    chart.lines.map((line, i) => lineOf(line, i, x, y)),
  );
}

/** Whole powers of ten around everything that is above 0. @param {Chart["lines"]} lines */
function decadesOf(lines) {
  const all = lines.flatMap(({ values }) => values.filter((value) => value > 0)).map(Math.log10);
  if (!all.length) return { low: -1, high: 0 };
  const low = Math.floor(Math.min(...all));
  return { low, high: Math.max(low + 1, Math.ceil(Math.max(...all))) };
}

/** A line at each power of ten, or at as many as fit; within two powers also at 2 and 5. */
function gridOf({ low, high }, y, right) {
  const step = Math.max(1, Math.ceil((high - low) / 7));
  const ticks = [];
  for (let at = low; at <= high; at += step) ticks.push(10 ** at);
  if (high - low <= 2) for (let at = low; at < high; at++) ticks.push(2 * 10 ** at, 5 * 10 ** at);
  return ticks.map((tick) => [
    svg("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y(tick), y2: y(tick) }),
    svg(
      "text",
      { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" },
      tick >= 1e-3 && tick < 1e5 ? String(Number(tick.toPrecision(1))) : power(tick),
    ),
  ]);
}

function axisOf({ steps, title }, x, bottom, right) {
  const names = steps.map((step, i) => svg("text", { x: x(i), y: bottom + 17, "text-anchor": "middle" }, step));
  return [
    names,
    svg("text", { class: "axis", x: (MARGIN.left + right) / 2, y: bottom + 34, "text-anchor": "middle" }, title),
  ];
}

/** Solid with dots, or dashed with squares: lines do not differ by colour alone. */
function lineOf({ values }, i, x, y) {
  const points = values.map((value, step) => (value > 0 ? [x(step), y(value)] : null));
  const path = points
    .map((point, step) => (point ? `${points[step - 1] ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}` : ""))
    .join("");
  const marks = points.map((point) => point && markOf(i, point));
  return svg("g", { class: `line line-${i}` }, svg("path", { d: path }), marks);
}

function markOf(i, [x, y]) {
  return i === 0 ? svg("circle", { cx: x, cy: y, r: 4 }) : svg("rect", { x: x - 3.5, y: y - 3.5, width: 7, height: 7 });
}
