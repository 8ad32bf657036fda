/** Pointer and keys on a matrix: point at a cell, choose one, draw over some, zoom. */

import { h, update } from "../../ui/dom.js";
import { showAll, showReadout, zoom } from "./readout.js";
import { boxOf, cellAfterKey, cellAt, cellsBetween, nearestCell, viewBetween, zoomed } from "./view.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Parts, Pen } from "./matrix.js"
 * @import { Cell } from "./view.js"
 */

/** If the pointer moved no further than this, in pixels, it was a click. */
const STILL = 6;

/**
 * Arrow keys choose the neighbour; Home and End the first and the last of the row, Page keys ten rows on; Enter opens it
 * where there is something to open; + − 0 zoom.
 * @param {Parts} parts
 */
export function followKeys(parts) {
  const { frame } = parts;
  frame.addEventListener("keydown", (event) => {
    const { matrix } = parts;
    if (!matrix || event.target !== frame) return;
    if (matrix.pen && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      if (!event.repeat) pressed(matrix.pen, matrix.chosen, event);
      return;
    }
    const zooming = { "+": () => zoom(parts, 0.5), "-": () => zoom(parts, 2), 0: () => showAll(parts) }[event.key];
    const cell = cellAfterKey(event, matrix.chosen, matrix.shape);
    if (zooming && !event.ctrlKey && !event.metaKey && !event.altKey) zooming();
    else if (event.key === "Enter" && matrix.onOpen) matrix.onOpen(matrix.chosen.row, matrix.chosen.col);
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
    if (!cell || parts.dragged || parts.matrix?.pen) return;
    frame.focus({ preventScroll: true });
    const { matrix } = parts;
    if (matrix) (matrix.onOpen ?? matrix.onChoose)(cell.row, cell.col);
  });
  plot.addEventListener("dblclick", () => parts.matrix?.pen || showAll(parts));
}

/** @param {Parts} parts @param {Cell|null} cell */
function look(parts, cell) {
  if (cell?.row !== parts.hovered?.row || cell?.col !== parts.hovered?.col) showReadout(parts, cell);
}

/** With a key: the chosen cell; with Shift, its row (Enter) or its column (the space bar). @param {Pen} pen @param {Cell} cell @param {KeyboardEvent} event */
function pressed(pen, cell, { key, shiftKey }) {
  if (shiftKey) return pen.line(key === "Enter" ? { row: cell.row } : { col: cell.col });
  pen.over(cell);
  pen.end();
}

/**
 * Where the matrix has a pen: a drag draws over cells, a tap over one; on a label with Shift, or a tap, over its row or
 * column.
 * @param {Parts} parts
 */
export function followPen(parts) {
  const { plot, frame } = parts;
  /** @type {Cell|null} */
  let last = null;
  let waits = false; // of a pen that is not taken: whether this is a drag
  let touch = false; // of a click Safari does not say it
  const penOf = () => parts.matrix?.pen ?? null;
  const onlyChooses = (/** @type {Cell} */ { row, col }) => {
    const { pen, chosen } = parts.matrix ?? {};
    return Boolean(pen?.ready) && (chosen?.row !== row || chosen?.col !== col);
  };
  const draws = (/** @type {Pen} */ pen, /** @type {Cell} */ cell) => {
    frame.classList.add("drawing");
    pen.over(cell);
  };
  plot.addEventListener("pointerdown", (event) => {
    const [pen, cell] = [penOf(), under(parts, event)];
    touch = event.pointerType === "touch";
    if (!pen || !cell || event.button !== 0 || touch) return; // a finger scrolls the page
    plot.setPointerCapture(event.pointerId);
    last = cell;
    waits = onlyChooses(cell);
    document.addEventListener("keydown", giveUp, true);
    if (!waits) draws(pen, cell);
  });
  plot.addEventListener("pointermove", (event) => {
    const pen = penOf();
    if (!last || !pen || !parts.size) return;
    const cell = nearestCell(pointOf(parts, event), parts.size);
    if (waits && cell.row === last.row && cell.col === last.col) return;
    if (waits) draws(pen, last);
    waits = false;
    for (const one of cellsBetween(last, cell)) pen.over(one);
    last = cell;
  });
  const end = (/** @type {"end"|"cancel"} */ how) => () => {
    if (last && waits && how === "end") parts.matrix?.onChoose(last.row, last.col);
    else if (last) penOf()?.[how]();
    last = null;
    frame.classList.remove("drawing");
    document.removeEventListener("keydown", giveUp, true);
  };
  /** Escape takes back what is being drawn, and leads nowhere. @param {KeyboardEvent} event */
  const giveUp = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    end("cancel")();
  };
  plot.addEventListener("pointerup", end("end"));
  plot.addEventListener("pointercancel", end("cancel"));
  plot.addEventListener("click", (event) => {
    const pen = penOf();
    if (!pen || !parts.size) return;
    const cell = under(parts, event);
    const line = cell ? null : labelAt(onHead(parts, event) ?? pointOf(parts, event), parts.size);
    frame.focus({ preventScroll: true });
    if (line && (event.shiftKey || touch)) pen.line(line);
    if (!cell || !touch) return; // a mouse has drawn already
    if (onlyChooses(cell)) return parts.matrix?.onChoose(cell.row, cell.col);
    pen.over(cell);
    pen.end();
  });
}

/** The row or column whose label is at a point. @param {{x: number, y: number}} point @param {Size} size @returns {{row: number}|{col: number}|null} */
function labelAt({ x, y }, size) {
  const { box } = size;
  const { row, col } = nearestCell({ x, y }, size);
  if (x < box.x && y >= box.y && y < box.y + box.h) return { row };
  return y < box.y && x >= box.x && x < box.x + box.w ? { col } : null;
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
    if (parts.matrix?.pen) return; // it draws instead
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
  const [right, bottom] = [Math.max(from.x, to.x) + size.cell.w, Math.max(from.y + from.h, to.y + to.h)];
  band.hidden = false;
  update(band, { style: { left: `${x}px`, top: `${y}px`, width: `${right - x}px`, height: `${bottom - y}px` } });
}

/** @param {Parts} parts @param {{clientX: number, clientY: number}} event */
function pointOf({ plot }, { clientX, clientY }) {
  const { left, top } = plot.getBoundingClientRect();
  return { x: clientX - left, y: clientY - top };
}

/** A point on the names of the columns, which lie over cells while the page is scrolled: as if it were not; null: it is not on them. @param {Parts} parts @param {{clientX: number, clientY: number}} event */
function onHead({ plot, head }, { clientX, clientY }) {
  const { top, bottom } = head.getBoundingClientRect();
  return clientY >= top && clientY < bottom
    ? { x: clientX - plot.getBoundingClientRect().left, y: clientY - top }
    : null;
}

/** @param {Parts} parts @param {MouseEvent} event */
function under(parts, event) {
  return parts.size && !onHead(parts, event) ? cellAt(pointOf(parts, event), parts.size) : null;
}
