/**
 * What is drawn over the cells: the outline of the chosen cell, its row and column, and edges; each as a shape of
 * svg.js. No DOM.
 */

import { boxOf } from "./place.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Matrix } from "./matrix.js"
 * @import { Shape } from "./svg.js"
 */

/** The least width of the frame around the chosen cell, in pixels. */
const SEEN = 9;
/** The least sides of the frame of a lit row or column. */
const LEAST = 3;
/** Smaller cells also get guide lines from both axes. */
const SMALL = 14;

/** @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
export function markShapes(matrix, size) {
  const marks = [edgeShapes, windowShapes, bandShapes, litShapes, chosenShapes];
  return marks.flatMap((shapes) => shapes(matrix, size));
}

/** A dashed frame around columns that belong together. @param {Matrix} matrix @param {Size} size */
function bandShapes({ band }, { box, cell, view }) {
  if (!band) return [];
  const at = { x: box.x + (band[0] - view.col) * cell.w, y: box.y, w: (band[1] - band[0]) * cell.w, h: box.h };
  const { tag, attrs } = frame(at, "--ink-2", 1, "band");
  return [{ tag, attrs: { ...attrs, "stroke-dasharray": "4 3" } }];
}

/** The frame of a row, a column or (both) a cell. @param {Matrix} matrix @param {Size} size */
function litShapes({ lit = {} }, { box, cell, view }) {
  const { row, col } = lit;
  if (row === undefined && col === undefined) return [];
  if (row !== undefined && (row < view.row || row >= view.row + view.rows)) return [];
  const [y, h] = row === undefined ? [box.y, box.h] : [box.y + (row - view.row) * cell.h, cell.h];
  const [x, w] = col === undefined ? [box.x, box.w] : [box.x + (col - view.col) * cell.w, cell.w];
  return [frame({ x, y, w: Math.max(LEAST, w), h: Math.max(LEAST, h) }, "--ink", 1.5, "lit")];
}

/** The frame around the chosen cell, or around its row; with small cells also the guide lines. */
function chosenShapes({ chosen, rows, cols }, size) {
  const { box, cell, view } = size;
  if (!within(chosen, view)) return [];
  const at = boxOf(chosen, size);
  if (chosen.span === "row") {
    const row = { x: box.x, y: at.y, w: box.w, h: cell.h };
    return [frame(row, `--${chosen.role}`, 2, "chosen row"), frame(grown(at, 0), "--ink", 1.25, "chosen")];
  }
  const outline = frame(grown(at, 1), "--q", 2.5, "chosen");
  if (Math.min(cell.w, cell.h) >= SMALL) return [outline];
  const across = { x: box.x, y: at.y, w: at.x - box.x, h: cell.h };
  const down = { x: at.x, y: box.y, w: cell.w, h: at.y - box.y };
  return [frame(across, colourOf(rows, "--q"), 0.75, "way"), frame(down, colourOf(cols, "--k"), 0.75, "way"), outline];
}

const colourOf = ({ role }, otherwise) => (role ? `--${role}` : otherwise);

const within = ({ row, col }, view) =>
  row >= view.row && row < view.row + view.rows && col >= view.col && col < view.col + view.cols;

/** Inside the cell by `inset`, but at least large enough to be visible. */
function grown({ x, y, w, h }, inset) {
  const [dx, dy] = [w, h].map((side) => (side < SEEN ? (SEEN - side) / 2 : -inset));
  return { x: x - dx, y: y - dy, w: w + 2 * dx, h: h + 2 * dy };
}

const line = (d) => ({
  tag: "path",
  attrs: { class: "edge", d, fill: "none", stroke: "--ink", "stroke-width": 1.5, "stroke-dasharray": "4 3" },
});

/** A dashed line between the cells in `outside` and the others. @param {Matrix} matrix @param {Size} size */
function windowShapes({ outside, shape: [, cols] }, size) {
  if (!outside) return [];
  const { row: top, col: left, rows, cols: wide } = size.view;
  const at = (row, col) => outside[row * cols + col] !== 0;
  const sides = [];
  for (let row = top; row < top + rows; row++) {
    for (let col = left; col < left + wide; col++) {
      const { x, y, w, h } = boxOf({ row, col }, size);
      if (col > left && at(row, col) !== at(row, col - 1)) sides.push(`M${x} ${y}v${h}`);
      if (row > top && at(row, col) !== at(row - 1, col)) sides.push(`M${x} ${y}h${w}`);
    }
  }
  return sides.length ? [line(sides.join(""))] : [];
}

/** Dashed lines across the picture, at the boundaries in `edges`. @param {Matrix} matrix @param {Size} size */
function edgeShapes({ edges }, size) {
  const { box, view, cell } = size;
  const [row, col] = [(edges?.row ?? 0) - view.row, (edges?.col ?? 0) - view.col];
  return [
    row > 0 && row < view.rows && line(`M${box.x} ${box.y + row * cell.h}h${box.w}`),
    col > 0 && col < view.cols && line(`M${box.x + col * cell.w} ${box.y}v${box.h}`),
  ].filter((one) => one !== false);
}

/** @returns {Shape} */
function frame({ x, y, w, h }, stroke, width, name) {
  return {
    tag: "rect",
    attrs: { class: name, x, y, width: w, height: h, fill: "none", stroke, "stroke-width": width },
  };
}
