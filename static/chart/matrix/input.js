/** Pointer and keys on a matrix: they look at a cell, choose one, or come closer. */

import * as plotly from "../plotly.js";
import { cellAt } from "./place.js";

const DOUBLE_CLICK = 350; // milliseconds

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

/** Arrow keys choose the neighbour; Home and End the first and the last of the row, Page keys ten rows on. */
export function followKeys(frame, parts) {
  frame.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (!move || !parts.matrix || event.target !== frame || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const { chosen, shape, onChoose } = parts.matrix;
    const row = clamp(chosen.row + move[0], shape[0]);
    const col = clamp(chosen.col + move[1], shape[1]);
    if (row !== chosen.row || col !== chosen.col) onChoose(row, col);
  });
}

function clamp(index, count) {
  return Math.min(count - 1, Math.max(0, index));
}

/**
 * Pointing looks, a click chooses, a drag comes closer, a double click shows the whole. The picture must have been drawn
 * once.
 * @param {any} parts
 * @param {(cell: {row: number, col: number}|null) => void} hover  null: the pointer has left
 */
export function followPointer(parts, hover) {
  const cellOf = ({ points }) => ({ row: points[0].y, col: points[0].x });
  let clicked = -Infinity;
  plotly.on(parts.plot, "plotly_click", (event) => {
    const { row, col } = cellOf(event);
    // The redraw between two clicks makes the library forget the first: count here, or a double click is lost.
    if (event.event.timeStamp - clicked < DOUBLE_CLICK) parts.lookAt(null);
    clicked = event.event.timeStamp;
    parts.frame.focus({ preventScroll: true });
    parts.matrix.onChoose(row, col);
  });
  parts.plot.addEventListener("mousemove", ({ clientX, clientY }) => {
    const { left, top } = parts.plot.getBoundingClientRect();
    const cell = cellAt({ x: clientX - left, y: clientY - top }, parts.size);
    if (cell?.row !== parts.hovered?.row || cell?.col !== parts.hovered?.col) hover(cell);
  });
  parts.plot.addEventListener("mouseleave", () => hover(null));
  plotly.on(parts.plot, "plotly_relayout", (change) => {
    const moved = Object.keys(change).some((name) => /axis\d*\.(range|autorange)/.test(name));
    if (moved) parts.lookAt(plotly.ranges(parts.plot));
  });
  plotly.on(parts.plot, "plotly_doubleclick", () => parts.lookAt(null));
  return true;
}
