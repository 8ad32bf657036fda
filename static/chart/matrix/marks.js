/** What stands around and upon the cells: labels, sums, titles, and the outline of what is chosen. */

import { number } from "../../ui/format.js";
import { cssColour } from "../colour.js";
import { coloured, escapeText } from "../plotly.js";

/** @typedef {import("./heatmap.js").Matrix} Matrix  @typedef {import("./layout.js").Size} Size */

/** The least room, in pixels, for one label before the next: less along a line of text that lies across the axis. */
const ROOM = 14;

/** The frame around a chosen cell is at least so many pixels wide. */
const SEEN = 9;

/**
 * Where an axis has labels and which: as many as there is room for in what is seen, and always the chosen one.
 * @param {"x"|"y"} name @param {Matrix} matrix @param {Size} size
 */
export function ticksOf(name, matrix, size) {
  const [axis, labels] = name === "x" ? [matrix.cols, size.colText] : [matrix.rows, size.rowText];
  const lit = litOf(name, matrix);
  const tickvals = thinned(name, size, labels.length, [...lit.keys()]);
  const ticktext = tickvals.map((i) =>
    lit.has(i) ? `<b>${coloured(labels[i], cssColour(lit.get(i)))}</b>` : plainLabel(axis, labels[i], i),
  );
  return { tickvals: axis.hidden ? [] : tickvals, ticktext: axis.hidden ? [] : ticktext };
}

function plainLabel({ faded }, label, index) {
  return faded?.(index) ? coloured(label, cssColour("--ink-3")) : escapeText(label);
}

/** The labels that are lit, with their colours: the chosen one, and what else the axis is asked to show. */
function litOf(name, { rows, cols, chosen }) {
  const [axis, index] = name === "x" ? [cols, chosen.col] : [rows, chosen.row];
  const lit = new Map([[index, axis.role ? `--${axis.role}` : "--ink"]]);
  if (axis.also && !lit.has(axis.also.index)) lit.set(axis.also.index, `--${axis.also.role}`);
  return lit;
}

/** The sum of each row, as it comes out of its float32 numbers, or what else is on the margin. @param {Matrix} matrix @param {Size} size */
export function sumTicks(matrix, size) {
  const [rows, cols] = matrix.shape;
  const tickvals = thinned("y", size, rows, [matrix.chosen.row]);
  if (matrix.margin) return { tickvals, ticktext: tickvals.map((row) => escapeText(matrix.margin.text(row))) };
  const sum = (row) => matrix.values.subarray(row * cols, (row + 1) * cols).reduce((total, value) => total + value, 0);
  return { tickvals, ticktext: tickvals.map((row) => number(sum(row), 3)) };
}

/** The places that get a label: all in `always`, and of the others as many as fit. */
function thinned(name, { view, cell, type }, count, always) {
  const [from, to] = [Math.min(...view[name]), Math.max(...view[name])];
  const step = Math.max(1, Math.ceil((ROOM * type) / (name === "x" ? cell.w : cell.h)));
  const places = [];
  for (let i = 0; i < count; i++) {
    if (i < from || i > to) continue;
    if (always.includes(i) || (i % step === 0 && always.every((one) => Math.abs(i - one) >= step))) places.push(i);
  }
  return places;
}

/** The frame around the chosen cell, or around its row; with small cells also the way there from both axes. */
export function outlineOf({ chosen: { row, col, span, role }, shape: [, cols] }, { cell }) {
  if (span === "row") {
    return [box([-0.5, cols - 0.5], around(row), `--${role}`, 2), box(around(col), around(row), "--ink", 1.25)];
  }
  const grown = [Math.max(0, SEEN / cell.w - 1) / 2, Math.max(0, SEEN / cell.h - 1) / 2];
  const outline = box(around(col, grown[0] || -1 / cell.w), around(row, grown[1] || -1 / cell.h), "--q", 2.5);
  if (Math.min(cell.w, cell.h) >= 14) return [outline];
  const way = [box([-0.5, col - 0.5], around(row), "--q", 0.75), box(around(col), [-0.5, row - 0.5], "--k", 0.75)];
  return [...way, outline];
}

/** Dashed lines across the picture, where something begins that is of another kind. @param {Matrix} matrix */
export function edgesOf({ edges, shape: [rows, cols] }) {
  const line = (place) => ({
    type: "line",
    ...place,
    line: { color: cssColour("--ink"), width: 1.5, dash: "4px,3px" },
    layer: "above",
  });
  const across = edges?.row && line({ x0: -0.5, x1: cols - 0.5, y0: edges.row - 0.5, y1: edges.row - 0.5 });
  const down = edges?.col && line({ x0: edges.col - 0.5, x1: edges.col - 0.5, y0: -0.5, y1: rows - 0.5 });
  return [across, down].filter(Boolean);
}

/** From one side of a cell to the other, `more` of a cell further out on both. */
function around(index, more = 0) {
  return [index - 0.5 - more, index + 0.5 + more];
}

function box([x0, x1], [y0, y1], colour, width) {
  return { type: "rect", x0, x1, y0, y1, line: { color: cssColour(colour), width }, layer: "above" };
}

/** What the axes are, in their colours, beginning at the corner where both begin. */
export function titlesOf(matrix, size) {
  const title = (text, role, place) => ({
    text: escapeText(text),
    font: { family: cssColour("--font"), size: 12 * size.type, color: cssColour(role ? `--${role}` : "--ink-2") },
    showarrow: false,
    xref: "paper",
    yref: "paper",
    borderpad: 0,
    ...place,
  });
  const { rows, cols, sums, margin } = matrix;
  const above = {
    x: 0,
    xanchor: "left",
    y: 1,
    yanchor: "bottom",
    yshift: size.margin.t - size.buttons - 22 * size.type - 1,
  };
  const beside = { x: 0, xanchor: "left", xshift: -size.leftOfCells, y: 1, yanchor: "top", textangle: -90 };
  const sum = { x: 1, xanchor: "left", xshift: 6, y: 1, yanchor: "bottom", yshift: 5 };
  return [
    title(cols.title, cols.role, above),
    !rows.hidden && title(rows.title, rows.also ? "" : rows.role, beside),
    sums && title(margin?.title ?? "Σ", "", sum),
  ].filter(Boolean);
}
