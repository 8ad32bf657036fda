/** A long matrix scrolls in its place; a small map of the whole, in the corner between its labels, shows where one is. */

import { h, painted, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { showReadout } from "./readout.js";
import { colouredBy, colourTable, paintCells } from "./sheet.js";
import { isWhole } from "./view.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Matrix, Parts } from "./matrix.js"
 * @import { View } from "./view.js"
 */

/** The least side of the window in the map, in pixels. */
const LEAST = 10;

/** @typedef {ReturnType<typeof buildMap>} MatrixMap */

/** The elements of a matrix that scrolls, and their listeners. @param {Parts} parts */
export function buildMap(parts) {
  const spacer = h("div", null);
  // The browser scrolls it, and the cells below it follow: the keyboard's way is the chosen cell.
  const scroller = h("div", { class: "matrix-scroller", tabindex: -1, "aria-hidden": true }, spacer);
  const canvas = h("canvas", null);
  const part = h("div", { class: "part" });
  const box = h("div", { class: "matrix-map", "aria-hidden": true, dataset: { testid: "matrix-map" } }, canvas, part);
  parts.plot.append(scroller, box);
  scroller.addEventListener("scroll", () => scrolled(parts, scroller));
  const go = (/** @type {PointerEvent} */ event) => goTo(parts, box, event);
  box.addEventListener("pointerdown", (event) => {
    event.stopPropagation(); // a drag in the cells zooms
    box.setPointerCapture(event.pointerId);
    go(event);
  });
  box.addEventListener("pointermove", (event) => {
    event.stopPropagation();
    if (box.hasPointerCapture(event.pointerId)) go(event);
  });
  const [drawn, wanted] = [/** @type {unknown[]} */ ([]), { top: 0, left: 0, cell: { w: 1, h: 1 } }];
  const scroll = () => {
    const { top, left, cell } = wanted;
    if (Math.round(scroller.scrollTop / cell.h) !== Math.round(top / cell.h)) scroller.scrollTop = top;
    if (Math.round(scroller.scrollLeft / cell.w) !== Math.round(left / cell.w)) scroller.scrollLeft = left;
  };
  return { scroller, spacer, box, canvas, part, drawn, scrolled: "", wanted, scroll };
}

/** @param {Parts} parts @param {HTMLElement} scroller */
function scrolled(parts, { scrollTop, scrollLeft }) {
  if (!parts.size || !parts.matrix) return;
  const { cell, view } = parts.size;
  const at = inside(
    view,
    { row: Math.round(scrollTop / cell.h), col: Math.round(scrollLeft / cell.w) },
    parts.matrix.shape,
  );
  if (at.row === view.row && at.col === view.col) return;
  if (parts.hovered) showReadout(parts, null); // another cell is under the pointer now
  parts.moveTo(at);
}

/** The point becomes the middle of what is seen. @param {Parts} parts @param {HTMLElement} box @param {PointerEvent} event */
function goTo(parts, box, { clientX, clientY }) {
  if (!parts.size || !parts.matrix) return;
  const { left, top, width, height } = box.getBoundingClientRect();
  const [rows, cols] = parts.matrix.shape;
  const { view } = parts.size;
  const row = Math.round(((clientY - top) / height) * rows - view.rows / 2);
  const col = Math.round(((clientX - left) / width) * cols - view.cols / 2);
  parts.moveTo(inside(view, { row, col }, [rows, cols]));
}

/** @param {View} view @param {{row: number, col: number}} at @param {[number, number]} shape @returns {View} */
function inside(view, { row, col }, [rows, cols]) {
  const between = (/** @type {number} */ index, /** @type {number} */ most) => Math.max(0, Math.min(index, most));
  return { ...view, row: between(row, rows - view.rows), col: between(col, cols - view.cols) };
}

/** Puts the window where the view is, and paints the map when its numbers changed. @param {MatrixMap} map @param {Matrix} matrix @param {Size} size */
export function showMap(map, matrix, size) {
  const { scroller, spacer, box, canvas, part } = map;
  const at = size.map;
  for (const one of [scroller, box]) one.hidden = !at;
  if (!at) return;
  const { box: cells, cell, view, dpr } = size;
  const [rows, cols] = matrix.shape;
  const place = (/** @type {{x: number, y: number, w: number, h: number}} */ { x, y, w, h }) => ({
    left: `${x}px`,
    top: `${y}px`,
    width: `${w}px`,
    height: `${h}px`,
  });
  update(scroller, { style: place(cells) });
  update(spacer, { style: { width: `${cell.w * cols}px`, height: `${cell.h * (rows - view.rows) + cells.h}px` } });
  const key = [view.row, view.col, cell.w, cell.h].join();
  if (key !== map.scrolled) {
    Object.assign(map.wanted, { top: view.row * cell.h, left: view.col * cell.w, cell });
    painted(map.scroll); // reading where it is lays out the page
    map.scrolled = key;
  }
  update(box, { style: place(at), title: t("matrix.map") });
  const [x, y] = [(view.col / cols) * at.w, (view.row / rows) * at.h];
  const [w, h] = [(view.cols / cols) * at.w, (view.rows / rows) * at.h].map((side) => Math.max(LEAST, side));
  update(part, { style: place({ x: Math.min(x, at.w - w), y: Math.min(y, at.h - h), w, h }) });
  part.hidden = isWhole(view, matrix.shape);
  const coloured = colouredBy(matrix);
  const table = colourTable(matrix.scale);
  const numbers = [coloured.values, matrix.forbidden, table.words, table.min, table.max, at.w, at.h, dpr];
  if (numbers.every((one, i) => one === map.drawn[i])) return;
  map.drawn = numbers;
  paintCells(canvas, coloured, table, { room: [at.h * dpr, at.w * dpr] });
}
