/** A picture of lines for files: as a standalone SVG, and as a zoomable plot in a saved page. */

import { significant } from "../../ui/format.js";
import { escapeText } from "../plotly.js";
import { cssColour } from "../theme.js";
import { shiftOf } from "./layout.js";
import { colourName } from "./svg.js";

/**
 * @import { Layout, Line } from "./layout.js"
 * @import { LinesContent } from "./picture.js"
 */

const STROKE = ["stroke", "stroke-width", "stroke-dasharray", "stroke-opacity"];
const FONT = ["font-family", "font-size", "font-weight", "white-space"];
const LOOKS = ["fill", "opacity", "paint-order", ...STROKE, ...FONT];
const PAGE_ONLY = ["role", "tabindex", "class", "aria-pressed", "aria-describedby"];
const DASH = ["solid", "dash", "dot", "longdashdot", "8px,3px", "2px,6px"];
/** How many points a curve has: with only two straight lines it would have a kink. */
const STEPS = 14;
/** With more lines than this, those of one head and similar weight are one trace without hover. */
const MANY = 400;

/** The picture on the page with its styles inlined, because a file has no style sheet. @param {SVGSVGElement} drawn */
export function lookedAs(drawn) {
  const copy = /** @type {SVGSVGElement} */ (drawn.cloneNode(true));
  for (const title of copy.querySelectorAll(".title")) title.setAttribute("x", "8"); // wherever it was scrolled to
  const [from, to] = /** @type {SVGElement[][]} */ ([
    [drawn, ...drawn.querySelectorAll("*")],
    [copy, ...copy.querySelectorAll("*")],
  ]);
  from.forEach((element, i) => {
    const looks = getComputedStyle(element);
    for (const name of element === drawn ? FONT : LOOKS) to[i].style.setProperty(name, looks.getPropertyValue(name));
    for (const name of PAGE_ONLY) to[i].removeAttribute(name);
  });
  return copy;
}

/** As traces and a layout for the drawing library. @param {LinesContent} content */
export function linesFigure({ layout, lines, count, above, series }) {
  const { width, height } = layout;
  const bare = { visible: false, fixedrange: false };
  return {
    data: [
      ...merged(lines.map((line) => curve(line, layout, { count, above, name: series[line.series].name }))),
      words(layout),
    ],
    layout: {
      width,
      height,
      margin: { l: 0, r: 0, t: 0, b: 0 },
      paper_bgcolor: cssColour("--panel"),
      plot_bgcolor: cssColour("--panel"),
      showlegend: false,
      hovermode: "closest",
      xaxis: { ...bare, range: [0, width] },
      yaxis: { ...bare, range: [height, 0] },
    },
  };
}

/** @param {Line} line @param {Layout} layout @param {{count: number, above: "q"|"k", name: string}} picture */
function curve({ series, query, key, weight }, layout, { count, above, name }) {
  const [up, down] = above === "q" ? [query, key] : [key, query];
  const shift = shiftOf(series, count);
  const [from, to] = [layout.above[up], layout.below[down]];
  const steps = Array.from({ length: STEPS + 1 }, (_, i) => i / STEPS);
  const ease = (/** @type {number} */ s) => s * s * (3 - 2 * s);
  const [q, k] = above === "q" ? [from, to] : [to, from];
  return {
    type: "scatter",
    mode: "lines",
    x: steps.map((s) => from.x + shift + (to.x - from.x) * ease(s)),
    y: steps.map((s) => layout.top + (layout.bottom - layout.top) * s),
    line: { color: cssColour(colourName(series, count)), width: 1.8, dash: DASH[series] },
    opacity: Math.min(1, weight),
    hoverinfo: "text",
    hovertext: escapeText(`${q.label} → ${k.label}: ${significant(weight)} (${name})`),
  };
}

/** @param {ReturnType<typeof curve>[]} curves */
function merged(curves) {
  if (curves.length <= MANY) return curves;
  const traces = new Map();
  for (const one of curves) {
    const opacity = Math.max(0.02, Math.round(one.opacity * 25) / 25);
    const name = `${one.line.color} ${opacity}`;
    const trace = traces.get(name) ?? { ...one, opacity, x: [], y: [], hoverinfo: "skip", hovertext: null };
    trace.x.push(...one.x, null);
    trace.y.push(...one.y, null);
    traces.set(name, trace);
  }
  return [...traces.values()];
}

/** @param {Layout} layout */
function words({ above, below }) {
  const all = [...above, ...below];
  const text = all.map(({ label }) => escapeText(label));
  const font = { family: cssColour("--mono"), size: 13, color: cssColour("--ink") };
  return {
    type: "scatter",
    mode: "text",
    x: all.map(({ x }) => x),
    y: all.map(({ y }) => y),
    text,
    textfont: font,
    hoverinfo: "skip",
  };
}
