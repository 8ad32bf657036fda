/** A matrix as traces and a layout for the drawing library. */

import { colourAt, colourScale } from "./heatmap_scale.js";
import { frameImage, hatchImage } from "./heatmap_frame.js";
import { outlineOf, sumTicks, ticksOf, titlesOf } from "./heatmap_marks.js";
import { cssColour, inkOn } from "./colour.js";
import { escapeText } from "./plotly.js";

/** Up to so many rows in view the cells say their values. */
const TALKATIVE = 20;

/**
 * @param {import("./heatmap.js").Matrix} matrix
 * @param {import("./heatmap_layout.js").Size} size
 * @param {HTMLElement} plot  keeps what the same numbers need again
 */
export function figureOf(matrix, size, plot) {
  const { cells, hover } = arraysOf(matrix, plot);
  const heat = {
    type: "heatmap",
    z: cells,
    zmin: matrix.scale.min,
    zmax: matrix.scale.max,
    colorscale: colourScale(matrix.scale),
    showscale: false,
    hoverinfo: "text",
    hovertext: hover,
  };
  const numbers = textIn(matrix, size, plot);
  // An axis is only drawn when something stands on it: the sums' axis has this.
  const sums = { type: "scatter", x: [], y: [], yaxis: "y2", hoverinfo: "skip" };
  return { data: [heat, numbers, matrix.sums && sums].filter(Boolean), layout: layoutOf(matrix, size) };
}

/** What follows from the numbers alone: the same arrays as long as these are the same, so that a redraw skips them. */
const arraysOf = kept((matrix) => [matrix.values, matrix.forbidden, matrix.rows.labels, matrix.cols.labels], (matrix) => ({
  cells: rowsOf(matrix, (value, forbidden) => (forbidden ? null : value)),
  hover: hoverRows(matrix),
}));

/** The hover's words, each made when it is looked up: 256 × 256 of them at once would take longer than the drawing. */
function hoverRows({ shape: [rows, cols], hover }) {
  const words = (row, col) => hover(row, col).map(escapeText).join("<br>");
  const look = (row) => ({ get: (target, name) => (/^\d+$/.test(String(name)) ? words(row, Number(name)) : target[name]) });
  return Array.from({ length: rows }, (_, row) => new Proxy(new Array(cols), look(row)));
}

/** The numbers that stand in the cells, each in an ink that can be read there. */
const textsOf = kept((matrix) => [matrix.values, matrix.forbidden, ...matrix.scale.stops], (matrix) => {
  const texts = { x: [], y: [], text: [], inks: [] };
  rowsOf(matrix, (value, forbidden, row, col) => {
    if (forbidden) return;
    texts.x.push(col);
    texts.y.push(row);
    texts.text.push(escapeText(matrix.cellText(value)));
    texts.inks.push(matrix.ink ?? inkOn(colourAt(matrix.scale, value)));
  });
  return { ...texts, longest: Math.max(4, ...texts.text.map((text) => text.length)) };
});

/** `make(matrix)`, made again for a picture only when what `from` lists has changed. */
function kept(from, make) {
  /** @type {WeakMap<HTMLElement, {source: any[], made: any}>} */
  const pictures = new WeakMap();
  return (matrix, plot) => {
    const source = from(matrix);
    const last = pictures.get(plot);
    if (last?.source.every((item, i) => item === source[i])) return last.made;
    const made = make(matrix);
    pictures.set(plot, { source, made });
    return made;
  };
}

function rowsOf({ values, forbidden, shape: [rows, cols] }, make) {
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: cols }, (_, col) => {
      const at = row * cols + col;
      return make(values[at], Boolean(forbidden?.[at]), row, col);
    }),
  );
}

/** The values in the cells, where there are few enough and they fit. */
function textIn(matrix, { view, cell }, plot) {
  const seen = Math.round(Math.max(view.y[0] - view.y[1], view.x[1] - view.x[0]));
  if (!matrix.square || seen > TALKATIVE) return null;
  const { x, y, text, inks, longest } = textsOf(matrix, plot);
  const font = Math.min(13, (cell.w - 3) / (longest * 0.6));
  if (font < 6.5) return null;
  const textfont = { family: cssColour("--mono"), size: font, color: inks };
  const centred = y.map((row) => row + 1.5 / cell.h); // the library puts text a little too high
  return { type: "scatter", mode: "text", x, y: centred, text, textfont, hoverinfo: "skip", cliponaxis: true };
}

/** @param {import("./heatmap.js").Matrix} matrix @param {import("./heatmap_layout.js").Size} size */
function layoutOf(matrix, size) {
  const panel = cssColour("--panel");
  const images = [(matrix.hatched ?? matrix.forbidden) && hatchImage(size), frameImage(size, matrix.shape)].filter(Boolean);
  return {
    width: size.width,
    height: size.height,
    margin: { ...size.margin, pad: 0, autoexpand: false },
    paper_bgcolor: panel,
    plot_bgcolor: panel,
    font: { family: cssColour("--mono"), size: size.font, color: cssColour("--ink") },
    hoverlabel: hoverLabel(),
    modebar: { bgcolor: "rgba(0,0,0,0)", color: cssColour("--ink-3"), activecolor: cssColour("--accent") },
    showlegend: false,
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
    xaxis: axisOf("x", matrix, size),
    yaxis: { ...axisOf("y", matrix, size), ...(matrix.square && { scaleanchor: "x" }) },
    ...(matrix.sums && { yaxis2: sumsAxis(matrix, size) }),
    images,
    shapes: outlineOf(matrix, size),
    annotations: titlesOf(matrix, size),
  };
}

function hoverLabel() {
  return {
    bgcolor: cssColour("--ink"),
    bordercolor: cssColour("--ink"),
    font: { family: cssColour("--font"), size: 12.5, color: cssColour("--panel") },
    align: "left",
  };
}

function axisOf(name, matrix, size) {
  const axis = name === "x" ? matrix.cols : matrix.rows;
  return {
    range: size.view[name],
    minallowed: -0.5,
    maxallowed: axis.labels.length - 0.5,
    side: name === "x" ? "top" : "left",
    tickmode: "array",
    ...ticksOf(name, matrix, size),
    tickangle: name === "x" ? size.angle : 0,
    showticklabels: !axis.hidden,
    ticks: "",
    ticklabelstandoff: 6,
    ticklabeloverflow: "allow", // each label has been measured already: no need to ask the browser again
    showgrid: false,
    zeroline: false,
    automargin: false,
  };
}

/** The sums stand on an axis of their own, so that they zoom with their rows. */
function sumsAxis(matrix, size) {
  const axis = axisOf("y", matrix, size);
  const look = { side: "right", overlaying: "y", matches: "y", showticklabels: true };
  return { ...axis, ...look, ...sumTicks(matrix, size), tickfont: { color: cssColour("--ink-3"), size: size.font - 1 } };
}
