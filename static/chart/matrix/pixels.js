/** Values as pixels, through a colour table. No DOM: returns the words of an ImageData's buffer. */

import { rgbaAt } from "../colour.js";

/**
 * @import { Scale } from "./scale.js"
 * @import { View } from "./view.js"
 */

/**
 * @typedef {Object} Cells
 * @property {ArrayLike<number>} values  row after row
 * @property {[rows: number, cols: number]} shape
 * @property {ArrayLike<number>|null} [forbidden]  not 0: see-through, so that the hatching below shows
 * @property {string[]} [tints]  or this colour, "#rrggbbaa", by the value in `forbidden`
 *
 * @typedef {{words: Uint32Array, min: number, max: number}} Table  the colours from `min` to `max`, evenly spaced
 * @typedef {{pixels: Uint32Array, rows: number, cols: number, pooled: boolean}} Pixels
 */

/** The number of colours: with 4 per step of a uint8, 0 is exactly in the middle of a signed scale. */
const COLOURS = 4 * 255 + 1;

/** @type {Map<string, Uint32Array>} */
const tables = new Map();

/** @param {Scale} scale @returns {Table} */
export function tableOf(scale) {
  const { stops, min, max, steps } = scale;
  const key = `${stops.join()} ${steps ?? ""}`;
  let words = tables.get(key);
  if (!words) {
    if (tables.size > 60) tables.clear();
    words = steps
      ? wordsOf(stops.length, (i) => rgbaAt(stops, i))
      : wordsOf(COLOURS, (i) => rgbaAt(stops, spread(i, stops)));
    tables.set(key, words);
  }
  return { words, min, max };
}

const spread = (i, stops) => (i / (COLOURS - 1)) * (stops.length - 1);

/** In the machine's byte order, so correct for either endianness. @param {(i: number) => number[]} colour */
function wordsOf(count, colour) {
  const bytes = new Uint8ClampedArray(count * 4);
  for (let i = 0; i < count; i++) bytes.set(colour(i), i * 4);
  return new Uint32Array(bytes.buffer);
}

/**
 * A pixel for each cell in view. With fewer pixels than cells, each shows the value furthest from 0 under it, so a head
 * that looks at one token stays visible as a line in any long text.
 * @param {Cells} cells @param {Table} table
 * @param {View} [view]  all cells
 * @param {[rows: number, cols: number]} [room]  no more pixels than that
 * @returns {Pixels}
 */
export function pixelsOf(cells, table, view, room = [Infinity, Infinity]) {
  const [all, across] = cells.shape;
  const seen = view ?? { row: 0, col: 0, rows: all, cols: across };
  const rows = Math.min(seen.rows, Math.max(1, Math.floor(room[0])));
  const cols = Math.min(seen.cols, Math.max(1, Math.floor(room[1])));
  const pooled = rows < seen.rows || cols < seen.cols;
  return { pixels: (pooled ? strongest : each)(cells, table, seen, [rows, cols]), rows, cols, pooled };
}

/** @param {Cells} cells @param {Table} table @param {View} view */
function each({ values, shape, forbidden, tints = [] }, { words, min, max }, { row, col, rows, cols }) {
  const pixels = new Uint32Array(rows * cols);
  const over = wordsOf(tints.length, (i) => rgbaAt([tints[i], tints[i]], 0));
  const unit = (words.length - 1) / (max - min);
  for (let y = 0, i = 0; y < rows; y++) {
    for (let x = 0, at = (row + y) * shape[1] + col; x < cols; x++, i++, at++) {
      pixels[i] = forbidden?.[at] ? (over[forbidden[at]] ?? 0) : words[Math.round((values[at] - min) * unit)];
    }
  }
  return pixels;
}

/** @param {Cells} cells @param {Table} table @param {View} view @param {[number, number]} pixels */
function strongest({ values, shape, forbidden, tints }, table, { row, col, rows, cols }, [down, across]) {
  const furthest = new Float32Array(down * across);
  const empty = new Uint8Array(down * across).fill(1);
  const blocks = Uint16Array.from({ length: cols }, (_, x) => Math.floor((x * across) / cols));
  for (let y = 0; y < rows; y++) {
    const first = Math.floor((y * down) / rows) * across;
    for (let x = 0, at = (row + y) * shape[1] + col; x < cols; x++, at++) {
      const block = first + blocks[x];
      if (forbidden?.[at]) {
        if (empty[block]) empty[block] = Math.max(empty[block], forbidden[at]);
        continue;
      }
      empty[block] = 0;
      if (Math.abs(values[at]) > Math.abs(furthest[block])) furthest[block] = values[at];
    }
  }
  const block = { row: 0, col: 0, rows: down, cols: across };
  return each({ values: furthest, shape: [down, across], forbidden: empty, tints }, table, block);
}
