/** What the cells of a matrix hold, in the shapes that the drawing library reads: values, and numbers to be read. */

import { cssColour, inkOn } from "../colour.js";
import { escapeText } from "../plotly.js";
import { colourAt } from "./scale.js";

/** @typedef {import("./heatmap.js").Matrix} Matrix  @typedef {import("./layout.js").Size} Size */

/** Up to so many rows in view the cells say their values. */
const TALKATIVE = 20;
const SMALLEST = 6.5; // pixels: a smaller number cannot be read

/** @type {WeakMap<HTMLElement, {source: any[], cells: (number|null)[][]}>} */
const pictures = new WeakMap();

/**
 * Values, row by row; a forbidden cell is null. While they stay the same a picture gets the same arrays again, which
 * tells the library that there is nothing to read.
 * @param {Matrix} matrix @param {HTMLElement} plot
 */
export function cellsOf(matrix, plot) {
  const source = [matrix.values, matrix.forbidden];
  const last = pictures.get(plot);
  if (last?.source.every((item, i) => item === source[i])) return last.cells;
  const cells = valueRows(matrix);
  pictures.set(plot, { source, cells });
  return cells;
}

function valueRows({ values, forbidden, shape: [rows, cols] }) {
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: cols }, (_, col) => (forbidden?.[row * cols + col] ? null : values[row * cols + col])),
  );
}

/**
 * The numbers that stand in the cells, as a trace, each in an ink that can be read there; null where there are too
 * many, or no room. (A heatmap's own text has one ink for all that is dark, and it is grey.)
 * @param {Matrix} matrix @param {Size} size
 */
export function numbersOf(matrix, { view, cell }) {
  const [[left, right], [bottom, top]] = [view.x, view.y];
  if (!matrix.square || bottom - top > TALKATIVE || right - left > TALKATIVE) return null;
  const [x, y, text, color] = [[], [], [], []];
  for (let row = Math.ceil(top); row < bottom; row++) {
    for (let col = Math.ceil(left); col < right; col++) {
      const at = row * matrix.shape[1] + col;
      if (matrix.forbidden?.[at]) continue;
      x.push(col);
      y.push(row + 1.5 / cell.h); // the library puts text a little too high
      text.push(escapeText(matrix.cellText(matrix.values[at])));
      color.push(matrix.ink ?? inkOn(colourAt(matrix.scale, matrix.values[at])));
    }
  }
  const longest = Math.max(4, ...text.map((word) => word.length));
  const size = Math.min(13, (cell.w - 3) / (longest * 0.6));
  if (size < SMALLEST) return null;
  const textfont = { family: cssColour("--mono"), size, color };
  return { type: "scatter", mode: "text", x, y, text, textfont, hoverinfo: "skip" };
}
