/** Where on the picture a cell lies, and which cell lies there: asking the drawing library would take its 50 ms. */

/** The middle of a cell, in pixels of the picture. @param {import("./layout.js").Size} size */
export function middleOf({ row, col }, { margin, view, cell }) {
  return { x: margin.l + (col - view.x[0]) * cell.w, y: margin.t + (row - view.y[1]) * cell.h };
}

/**
 * The cell that is seen at a pixel of the picture, or null beside the cells.
 * @param {{x: number, y: number}} place @param {import("./layout.js").Size} size
 */
export function cellAt({ x, y }, { margin, view, cell }) {
  const [across, down] = [(x - margin.l) / cell.w, (y - margin.t) / cell.h];
  const inside = across >= 0 && down >= 0 && across < view.x[1] - view.x[0] && down < view.y[0] - view.y[1];
  return inside ? { row: Math.floor(view.y[1] + 0.5 + down), col: Math.floor(view.x[0] + 0.5 + across) } : null;
}
