/**
 * Which part of a matrix is in view, in whole cells; where a cell is in pixels; how keys move the chosen cell. No DOM.
 *
 * @typedef {{row: number, col: number, rows: number, cols: number}} View  the first row and column, and how many
 * @typedef {[rows: number, cols: number]} Shape
 * @typedef {{row: number, col: number}} Cell
 */

/** @import { Size } from "./layout.js" */

/** @type {Object<string, [rows: number, cols: number]>} */
const MOVES = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
};
/** With Shift, an arrow moves by this many columns: an FFN has 1,024. */
const FAR = 16;

/**
 * The cell that a key moves to; null for other keys.
 * @param {{key: string, shiftKey?: boolean, altKey?: boolean, ctrlKey?: boolean, metaKey?: boolean}} event
 * @param {Cell} from @param {Shape} shape
 * @returns {Cell|null}
 */
export function cellAfterKey({ key, shiftKey, altKey, ctrlKey, metaKey }, from, [rows, cols]) {
  const move = MOVES[key];
  if (!move || altKey || ctrlKey || metaKey) return null;
  const far = shiftKey ? FAR : 1;
  const inside = (/** @type {number} */ index, /** @type {number} */ count) => Math.min(count - 1, Math.max(0, index));
  return { row: inside(from.row + move[0], rows), col: inside(from.col + move[1] * far, cols) };
}

/**
 * @typedef {Pick<Size, "box"|"cell"|"view"> & Partial<Pick<Size, "high">>} Place
 *
 * @typedef {{row: number, rows: number, y: number, h: number}} Band  rows of one height `h`; `y`: below the first that is seen
 */

/** The rows that are seen, in bands of one height: one of them may be higher than the others. @param {Omit<Place, "box">} size @returns {Band[]} */
export function rowBands({ cell: { h }, view: { row, rows }, high }) {
  const at = high ? high.row - row : -1;
  if (!high || at < 0 || at >= rows) return [{ row, rows, y: 0, h }];
  const bands = [
    { row, rows: at, y: 0, h },
    { row: row + at, rows: 1, y: at * h, h: high.h },
    { row: row + at + 1, rows: rows - at - 1, y: at * h + high.h, h },
  ];
  return bands.filter((band) => band.rows > 0);
}

/** How high the rows are together that are seen. @param {Omit<Place, "box">} size */
export const heightOfRows = (size) => rowBands(size).reduce((sum, { rows, h }) => sum + rows * h, 0);

/** The box of a cell. @param {Cell} at @param {Place} size */
export function boxOf({ row, col }, size) {
  const { box, cell, view } = size;
  const band = rowBands(size).findLast((one) => one.row <= row) ?? { row: view.row, y: 0, h: cell.h };
  return { x: box.x + (col - view.col) * cell.w, y: box.y + band.y + (row - band.row) * band.h, w: cell.w, h: band.h };
}

/** The row at a distance below the first that is seen; before or after all of them, one that is not. @param {number} y @param {Place} size */
function rowAt(y, size) {
  const { row, y: top, h } = rowBands(size).findLast((one) => one.y <= y) ?? { ...size.view, y: 0, h: size.cell.h };
  return row + Math.floor((y - top) / h);
}

/** The middle of a cell. @param {Cell} at @param {Place} size */
export function middleOf(at, size) {
  const { x, y, w, h } = boxOf(at, size);
  return { x: x + w / 2, y: y + h / 2 };
}

/** The cell at a point, or null outside the cells. @param {{x: number, y: number}} point @param {Place} size @returns {Cell|null} */
export function cellAt({ x, y }, size) {
  const { box, cell, view } = size;
  const at = { row: rowAt(y - box.y, size), col: view.col + Math.floor((x - box.x) / cell.w) };
  return isInView(at, view) ? at : null;
}

/** The cell at a point, or the nearest one. @param {{x: number, y: number}} point @param {Place} size @returns {Cell} */
export function nearestCell({ x, y }, size) {
  const { box, cell, view } = size;
  const inside = (/** @type {number} */ index, /** @type {number} */ count) =>
    Math.min(count - 1, Math.max(0, Math.floor(index)));
  return {
    row: view.row + inside(rowAt(y - box.y, size) - view.row, view.rows),
    col: view.col + inside((x - box.x) / cell.w, view.cols),
  };
}

/** The cells from one to another, without the first: a fast pointer skips some. @param {Cell} from @param {Cell} to @returns {Cell[]} */
export function cellsBetween(from, to) {
  const [down, right] = [to.row - from.row, to.col - from.col];
  const n = Math.max(Math.abs(down), Math.abs(right));
  return Array.from({ length: n }, (_, i) => ({
    row: Math.round(from.row + (down * (i + 1)) / n),
    col: Math.round(from.col + (right * (i + 1)) / n),
  }));
}

/** Zooming in stops at this many cells. */
const FEWEST = 3;

/** The whole matrix. @param {Shape} shape @returns {View} */
export function wholeOf([rows, cols]) {
  return { row: 0, col: 0, rows, cols };
}

/**
 * `factor` times as many cells, never more than there are. The cell `at` stays where it is in the picture, so that the
 * pointer keeps its cell; `middle` puts it in the middle.
 * @param {View} view @param {number} factor @param {Cell} at @param {Shape} shape @returns {View}
 */
export function zoomed(view, factor, at, shape, middle = false) {
  const [rows, row] = stretch(view.row, view.rows, factor, at.row, shape[0], middle);
  const [cols, col] = stretch(view.col, view.cols, factor, at.col, shape[1], middle);
  return { row, col, rows, cols };
}

/** @param {number} first @param {number} count @param {number} factor @param {number} at @param {number} all @param {boolean} middle @returns {[number, number]} how many, and the first of them */
function stretch(first, count, factor, at, all, middle) {
  const next = Math.min(all, Math.max(Math.min(FEWEST, all), Math.round(count * factor)));
  const share = middle ? 0.5 : (at + 0.5 - first) / count;
  return [next, inside(Math.round(at + 0.5 - share * next), next, all)];
}

/**
 * What lies between two cells. Where cells are square it grows on its shorter side, so that the picture stays full.
 * @param {Cell} a @param {Cell} b @param {Shape} shape @param {boolean} square @returns {View}
 */
export function viewBetween(a, b, shape, square) {
  const counts = [Math.abs(a.row - b.row) + 1, Math.abs(a.col - b.col) + 1];
  const share = square ? Math.max(counts[0] / shape[0], counts[1] / shape[1]) : 0;
  const [rows, cols] = counts.map((count, i) => Math.max(count, Math.round(share * shape[i])));
  return {
    row: inside(Math.min(a.row, b.row), rows, shape[0]),
    col: inside(Math.min(a.col, b.col), cols, shape[1]),
    rows,
    cols,
  };
}

/** `view` moved as little as it takes to see the chosen cell. @param {View} view @param {Cell} chosen @param {Shape} shape @returns {View} */
export function following({ row, col, rows, cols }, chosen, shape) {
  /** @param {number} first @param {number} count @param {number} at @param {number} all */
  const follow = (first, count, at, all) => inside(Math.max(at - count + 1, Math.min(first, at)), count, all);
  return { row: follow(row, rows, chosen.row, shape[0]), col: follow(col, cols, chosen.col, shape[1]), rows, cols };
}

/** Whether a cell is seen. @param {Cell} cell @param {View} view */
export const isInView = ({ row, col }, view) =>
  row >= view.row && row < view.row + view.rows && col >= view.col && col < view.col + view.cols;

/** Whether it shows everything. @param {View} view @param {Shape} shape */
export const isWhole = ({ rows, cols }, shape) => rows === shape[0] && cols === shape[1];

/** @param {number} first @param {number} count @param {number} all */
function inside(first, count, all) {
  return Math.min(all - count, Math.max(0, first));
}
