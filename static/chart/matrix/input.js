/** Pointer and keys on a matrix: point at a cell, choose one, zoom. */

import { h, update } from "../../ui/dom.js";
import { showAll, showReadout, zoom } from "./readout.js";
import { boxOf, cellAfterKey, cellAt, nearestCell, viewBetween, zoomed } from "./view.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Parts } from "./matrix.js"
 * @import { Cell } from "./view.js"
 */

/** If the pointer moved no further than this, in pixels, it was a click. */
const STILL = 6;

/**
 * Arrow keys choose the neighbour; Home and End the first and the last of the row, Page keys ten rows on; + − 0 zoom.
 * @param {Parts} parts
 */
export function followKeys(parts) {
  const { frame } = parts;
  frame.addEventListener("keydown", (event) => {
    const { matrix } = parts;
    if (!matrix || event.target !== frame) return;
    const zooming = { "+": () => zoom(parts, 0.5), "-": () => zoom(parts, 2), 0: () => showAll(parts) }[event.key];
    const cell = cellAfterKey(event, matrix.chosen, matrix.shape);
    if (zooming && !event.ctrlKey && !event.metaKey && !event.altKey) zooming();
    else if (!cell) return;
    else if (cell.row !== matrix.chosen.row || cell.col !== matrix.chosen.col) matrix.onChoose(cell.row, cell.col);
    event.preventDefault();
  });
}

/** Pointing previews a cell, a click chooses it, a double click shows the whole matrix. @param {Parts} parts */
export function followPointer(parts) {
  const { plot, frame } = parts;
  plot.addEventListener("pointermove", (event) => event.pointerType !== "touch" && look(parts, under(parts, event)));
  plot.addEventListener("pointerleave", () => look(parts, null));
  plot.addEventListener("click", (event) => {
    const cell = under(parts, event);
    if (!cell || parts.dragged) return;
    frame.focus({ preventScroll: true });
    parts.matrix?.onChoose(cell.row, cell.col);
  });
  plot.addEventListener("dblclick", () => showAll(parts));
}

/** @param {Parts} parts @param {Cell|null} cell */
function look(parts, cell) {
  if (cell?.row !== parts.hovered?.row || cell?.col !== parts.hovered?.col) showReadout(parts, cell);
}

/** A drag zooms to its cells. The wheel with Ctrl, or two fingers on a touchpad, zooms too. @param {Parts} parts */
export function followZoom(parts) {
  const { plot } = parts;
  const band = h("div", { class: "zoom-band", hidden: true });
  plot.append(band);
  /** @type {{x: number, y: number}|null} */
  let start = null;
  plot.addEventListener("pointerdown", (event) => {
    parts.dragged = false;
    if (event.button !== 0 || event.pointerType === "touch" || !under(parts, event)) return; // a finger scrolls the page
    start = pointOf(parts, event);
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    if (!start || !parts.size) return;
    const point = pointOf(parts, event);
    parts.dragged ||= Math.hypot(point.x - start.x, point.y - start.y) > STILL;
    if (parts.dragged) showBand(band, parts.size, nearestCell(start, parts.size), nearestCell(point, parts.size));
  });
  plot.addEventListener("pointerup", (event) => {
    const from = start && parts.dragged && parts.size ? nearestCell(start, parts.size) : null;
    [start, band.hidden] = [null, true];
    if (!from || !parts.matrix || !parts.size) return;
    const to = nearestCell(pointOf(parts, event), parts.size);
    parts.lookAt(viewBetween(from, to, parts.matrix.shape, Boolean(parts.matrix.square)));
  });
  plot.addEventListener("pointercancel", () => ([start, band.hidden] = [null, true]));
  plot.addEventListener("wheel", (event) => wheel(parts, event), { passive: false });
}

/** @param {Parts} parts @param {WheelEvent} event */
function wheel(parts, event) {
  const { size, matrix } = parts;
  const cell = under(parts, event);
  if (!event.ctrlKey || !cell || !size || !matrix) return; // without Ctrl the page scrolls
  event.preventDefault();
  parts.lookAt(zoomed(size.view, event.deltaY < 0 ? 0.8 : 1.25, cell, matrix.shape));
}

/** The frame of a drag, around whole cells. @param {HTMLDivElement} band @param {Size} size @param {Cell} a @param {Cell} b */
function showBand(band, size, a, b) {
  const [from, to] = [boxOf(a, size), boxOf(b, size)];
  const [x, y] = [Math.min(from.x, to.x), Math.min(from.y, to.y)];
  const [right, bottom] = [Math.max(from.x, to.x) + size.cell.w, Math.max(from.y, to.y) + size.cell.h];
  band.hidden = false;
  update(band, { style: { left: `${x}px`, top: `${y}px`, width: `${right - x}px`, height: `${bottom - y}px` } });
}

/** @param {Parts} parts @param {{clientX: number, clientY: number}} event */
function pointOf({ plot }, { clientX, clientY }) {
  const { left, top } = plot.getBoundingClientRect();
  return { x: clientX - left, y: clientY - top };
}

/** @param {Parts} parts @param {MouseEvent} event */
function under(parts, event) {
  return parts.size ? cellAt(pointOf(parts, event), parts.size) : null;
}
