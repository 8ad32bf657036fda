/** What is drawn, as plain data for a file: figures with their hovers written out, and all labels of their axes. */

import { linesFigure } from "../chart/lines/figure.js";
import { coloured, escapeText, figure } from "../chart/plotly.js";
import { nameOf } from "./station_picture.js";

/** @param {import("../chart/pictures.js").Picture} picture @param {Object<string, string>} colours  of the roles */
export function plainFigure(picture, colours) {
  const { kind, content } = picture;
  const common = { kind, name: nameOf(picture), label: content.label };
  if (kind === "lines") return { ...common, ...linesFigure(content) };
  const { data, layout } = figure(picture.plot);
  if (kind === "bars") return { ...common, data, layout: { ...layout, dragmode: "zoom" } };
  const hover = () => ({ hoverinfo: "text", hovertext: hovers(content) });
  const traces = data.map((trace) => (trace.type === "heatmap" ? { ...trace, ...hover() } : trace));
  return { ...common, data: traces, layout: { ...layout, dragmode: "zoom" }, axes: axesOf(content, colours) };
}

/** In the page lib/heatmap_tip.js shows these, one at a time; a file has them all. @param {import("../chart/matrix/heatmap.js").Matrix} matrix */
function hovers({ shape: [rows, cols], hover }) {
  const words = (row, col) => hover(row, col).map(escapeText).join("<br>");
  return Array.from({ length: rows }, (_, row) => Array.from({ length: cols }, (_, col) => words(row, col)));
}

/** @param {import("../chart/matrix/heatmap.js").Matrix} matrix */
function axesOf({ rows, cols, chosen }, colours) {
  const axis = ({ labels, role, hidden }, index) => ({
    chosen: index,
    labels: labels.map((text, i) => {
      if (hidden) return "";
      return i === index ? `<b>${coloured(text, colours[role] ?? colours.ink)}</b>` : escapeText(text);
    }),
  });
  return { xaxis: axis(cols, chosen.col), yaxis: axis(rows, chosen.row) };
}
