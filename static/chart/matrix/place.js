/** The place of a cell in the picture, and the cell at a place, in pixels of the picture. No DOM. */

/**
 * @import { Size } from "./layout.js"
 * @import { Cell } from "./view.js"
 */

/**
 * @typedef {Pick<Size, "box"|"cell"|"view">} Place
 */

/** The box of a cell. @param {Cell} at @param {Place} size */
export function boxOf({ row, col }, { box, cell, view }) {
  return { x: box.x + (col - view.col) * cell.w, y: box.y + (row - view.row) * cell.h, w: cell.w, h: cell.h };
}

/** The middle of a cell. @param {Cell} at @param {Place} size */
export function middleOf(at, size) {
  const { x, y, w, h } = boxOf(at, size);
  return { x: x + w / 2, y: y + h / 2 };
}

/** The cell at a point, or null outside the cells. @param {{x: number, y: number}} point @param {Place} size @returns {Cell|null} */
export function cellAt({ x, y }, { box, cell, view }) {
  const [row, col] = [Math.floor((y - box.y) / cell.h), Math.floor((x - box.x) / cell.w)];
  if (row < 0 || col < 0 || row >= view.rows || col >= view.cols) return null;
  return { row: view.row + row, col: view.col + col };
}

/** The cell at a point, or the nearest one. @param {{x: number, y: number}} point @param {Place} size @returns {Cell} */
export function nearestCell({ x, y }, { box, cell, view }) {
  const inside = (index, count) => Math.min(count - 1, Math.max(0, Math.floor(index)));
  return {
    row: view.row + inside((y - box.y) / cell.h, view.rows),
    col: view.col + inside((x - box.x) / cell.w, view.cols),
  };
}
