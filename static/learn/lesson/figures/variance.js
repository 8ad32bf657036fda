/** The variance of q·k against the number of dimensions that are added: the model's own, and that of independent numbers. */

import { h, replace, svg } from "../../../ui/dom.js";
import { significant } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { variances } from "../measures/attention.js";
import { chartSize } from "./chart_size.js";

/** @import { Figure } from "./index.js" */

const [LEFT, FOOT] = [70, 56];

/** @type {Figure} */
export async function draw(root, live) {
  const { byDimension, d } = await variances(live);
  const sizes = Object.keys(byDimension).map(Number);
  const most = byDimension[d];
  const [wide, high] = chartSize(root);
  const x = (/** @type {number} */ size) => LEFT + (Math.log2(size) / Math.log2(d)) * (wide - LEFT - 30);
  const low = Math.log10(byDimension[1]) - 0.15;
  const y = (/** @type {number} */ value) =>
    20 + (1 - (Math.log10(value) - low) / (Math.log10(most) + 0.1 - low)) * (high - FOOT - 20);
  const line = (/** @type {(size: number) => number} */ at, /** @type {string} */ name) =>
    svg("polyline", { class: name, points: sizes.map((size) => `${x(size)},${y(at(size))}`).join(" ") });
  const chance = (/** @type {number} */ size) => byDimension[1] * size;
  const ticks = [1, 10, 100].filter((value) => Math.log10(value) > low && value < most * 1.2);
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${wide} ${high}`, class: "lesson-chart", role: "img", "aria-label": t("lesson.variance.label") },
    sizes.map((size) => [
      svg("line", { class: "rule", x1: x(size), x2: x(size), y1: 20, y2: high - FOOT }),
      svg("text", { x: x(size), y: high - FOOT + 24, "text-anchor": "middle" }, String(size)),
    ]),
    ticks.map((value) => [
      svg("line", { class: "rule", x1: LEFT, x2: x(d), y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 12, y: y(value) + 6, "text-anchor": "end" }, String(value)),
    ]),
    svg("text", { x: (LEFT + x(d)) / 2, y: high - 6, "text-anchor": "middle", class: "dim" }, t("lesson.variance.x")),
    svg(
      "text",
      { x: -(high - FOOT + 20) / 2, y: 18, transform: "rotate(-90)", "text-anchor": "middle", class: "dim" },
      t("lesson.variance.y"),
    ),
    line(chance, "chance"),
    line((size) => byDimension[size], "own tells"),
    sizes.map((size) => {
      const tells = size > 1 ? "own tells" : "own";
      return [
        svg("circle", { class: tells, cx: x(size), cy: y(byDimension[size]), r: 6 }),
        svg(
          "text",
          { x: x(size) - 8, y: y(byDimension[size]) - 14, "text-anchor": "end", class: tells },
          significant(byDimension[size], 2),
        ),
      ];
    }),
  );
  const legend = h(
    "ul",
    { class: "lesson-legend" },
    ["own", "chance"].map((name) =>
      h("li", null, h("i", { class: name }), h("span", null, t(`lesson.variance.${name}`))),
    ),
  );
  replace(root, h("h2", { class: "lesson-caption" }, t("lesson.variance.title")), chart, legend);
}
