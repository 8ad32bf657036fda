/**
 * What is drawn over the cells: the outline of the chosen cell, its row and column, and edges; each as a shape of
 * svg.js. No DOM.
 */

import { boxOf } from "./place.js";

/** @typedef {import("./matrix.js").Matrix} Matrix  @typedef {import("./layout.js").Size} Size  @typedef {import("./svg.js").Shape} Shape */

/** The least width of the frame around the chosen cell, in pixels. */
const SEEN = 9;
/** Smaller cells also get guide lines from both axes. */
const SMALL = 14;

/** @param {Matrix} matrix @param {Size} size @returns {Shape[]} */
export function markShapes(matrix, size) {
  return [...edgeShapes(matrix, size), ...chosenShapes(matrix, size)];
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

/** Dashed lines across the picture, at the boundaries in `edges`. @param {Matrix} matrix @param {Size} size */
function edgeShapes({ edges }, size) {
  const { box, view, cell } = size;
  const line = (d) => ({
    tag: "path",
    attrs: { class: "edge", d, fill: "none", stroke: "--ink", "stroke-width": 1.5, "stroke-dasharray": "4 3" },
  });
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
