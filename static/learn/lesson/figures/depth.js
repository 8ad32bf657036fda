/** How alike the first position ([CLS]) of several sentences is to that of the open one, layer by layer. */

import { h, replace, svg } from "../../../ui/dom.js";
import { number } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { alikeByDepth } from "../measures/stream.js";
import { chartSize } from "./chart_size.js";

/** @import { Figure } from "./index.js" */

const [TOP, FOOT, LEFT] = [20, 50, 70];

/** @type {Figure} */
export async function draw(root, live, { others }) {
  const lines = await alikeByDepth(live, others);
  const depth = lines[0].length - 1;
  const [wide, high] = chartSize(root);
  const x = (/** @type {number} */ layer) => LEFT + (layer / depth) * (wide - LEFT - 40);
  const y = (/** @type {number} */ alike) => TOP + ((1 - alike) / 2) * (high - TOP - FOOT);
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${wide} ${high}`, class: "lesson-chart", role: "img", "aria-label": t("lesson.depth.label") },
    [1, 0, -1].map((alike) => [
      svg("line", { class: "rule", x1: LEFT, x2: wide - 40, y1: y(alike), y2: y(alike) }),
      svg("text", { x: LEFT - 10, y: y(alike) + 5, "text-anchor": "end" }, number(alike, 0)),
    ]),
    svg(
      "text",
      { x: -y(0), y: 18, transform: "rotate(-90)", "text-anchor": "middle", class: "dim" },
      t("lesson.depth.y"),
    ),
    lines[0].map((_, layer) =>
      svg(
        "text",
        { x: x(layer), y: high - FOOT + 26, "text-anchor": "middle", class: "dim" },
        layer ? t("lesson.depth.after", { layer: layer - 1 }) : t("lesson.depth.in"),
      ),
    ),
    lines.map((line, i) => [
      svg("polyline", { class: `line-${i} tells`, points: line.map((alike, at) => `${x(at)},${y(alike)}`).join(" ") }),
      line.map((alike, at) =>
        svg("circle", { class: at ? `line-${i} tells` : `line-${i}`, cx: x(at), cy: y(alike), r: 6 }),
      ),
    ]),
  );
  const legend = others.map((/** @type {string} */ text, /** @type {number} */ i) =>
    h(
      "li",
      null,
      h("i", { class: `line-${i}` }),
      h("span", { lang: "en" }, text),
      h("b", { class: "mono tells" }, number(lines[i][depth], 2)),
    ),
  );
  const open = h(
    "p",
    { class: "lesson-figure-text" },
    t("lesson.depth.open"),
    " ",
    h("b", { lang: "en" }, "text" in live.run.input ? live.run.input.text : ""),
  );
  replace(
    root,
    h("h2", { class: "lesson-caption" }, t("lesson.depth.title")),
    open,
    chart,
    h("ul", { class: "lesson-legend" }, legend),
  );
}
