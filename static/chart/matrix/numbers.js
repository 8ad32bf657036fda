/** The numbers in the cells, if the cells are few and large enough. No DOM. */

import { inkOn } from "../colour.js";
import { middleOf } from "./place.js";
import { colourAt } from "./scale.js";

/**
 * @import { Place } from "./place.js"
 * @import { Drawable } from "./sheet.js"
 * @import { Cell, View } from "./view.js"
 */

/** Cells show their values if at most this many rows and columns are in view. */
const TALKATIVE = 20;
const [SMALLEST, LARGEST] = [6.5, 13]; // pixels, the largest of usual type
/** The width of a digit of the page's monospaced face, for a size of 1. */
const DIGIT = 0.6;
/** The share of a cell that stays free beside its number. */
const MARGIN = 0.15;

/** @typedef {{row: number, col: number, x: number, y: number, text: string, ink: string}} CellNumber */

/**
 * Each in a colour that is readable on its cell.
 * @param {Drawable} matrix @param {Place & {type?: number, least?: number}} size  `least`: a smaller number is left out
 * @returns {{size: number, numbers: CellNumber[]}}
 */
export function numbersOf(matrix, size) {
  const { view, cell, type = 1, least = SMALLEST } = size;
  if (!(matrix.numbers ?? matrix.square) || view.rows > TALKATIVE || view.cols > TALKATIVE)
    return { size: 0, numbers: [] };
  const numbers = cellsIn(view)
    .map(({ row, col }) => ({ row, col, at: row * matrix.shape[1] + col }))
    .filter(({ at }) => matrix.onHatching || !matrix.forbidden?.[at])
    .map(({ row, col, at }) => numberOf(matrix, size, { row, col }, at))
    .filter(({ text }) => text !== "");
  const longest = Math.max(3, ...numbers.map(({ text }) => text.length));
  const font = Math.min(LARGEST * type, (cell.w * (1 - MARGIN)) / (longest * DIGIT));
  return font < least ? { size: 0, numbers: [] } : { size: font, numbers };
}

/** @returns {CellNumber} */
function numberOf(matrix, size, cell, at) {
  const { forbidden, onHatching, values, tones = values } = matrix;
  const place = { ...cell, ...middleOf(cell, size) };
  if (onHatching && forbidden?.[at]) return { ...place, ...onHatching };
  return {
    ...place,
    text: matrix.cellText(values[at], size.cell),
    ink: matrix.ink ?? inkOn(colourAt(matrix.scale, tones[at])),
  };
}

/** Each cell of a part of a matrix. @param {View} view @returns {Cell[]} */
export function cellsIn({ row, col, rows, cols }) {
  return Array.from({ length: rows * cols }, (_, i) => ({ row: row + Math.floor(i / cols), col: col + (i % cols) }));
}
