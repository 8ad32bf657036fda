/** Pointer and keys on a matrix, and what lights up on the axes under a pointer. */

import { h, setText, update } from "./dom.js";
import * as plotly from "./plotly.js";

/** Labels that are lit: over the axis, so that a redraw is not needed and a thinned label is shown too. */
export function makeMarkers() {
  const marker = (side) => h("span", { class: `marker ${side}`, hidden: true, "aria-hidden": true });
  return { row: marker("row"), col: marker("col") };
}

/** Light the labels of `cell`, or none. */
export function showMarkers(markers, cell, { matrix, size }) {
  update(markers.row, { hidden: !cell || matrix.rows.hidden });
  update(markers.col, { hidden: !cell });
  if (!cell) return;
  const { margin, view } = size;
  const x = margin.l + (cell.col - view.x[0]) * size.cell.w;
  const y = margin.t + (cell.row - view.y[1]) * size.cell.h;
  place(markers.row, matrix.rows, cell.row, { top: `${y}px`, right: `${size.width - margin.l + 3}px` });
  place(markers.col, matrix.cols, cell.col, { left: `${x}px`, bottom: `${size.height - margin.t + 5}px` });
}

function place(marker, { labels, role }, index, style) {
  setText(marker, labels[index]);
  update(marker, { style, dataset: { role } });
}

/** The names of a cell's place, for `data-*`: query and key where the axes are these. */
export function cellAt({ rows, cols }, row, col) {
  const names = {};
  if (rows.role === "q") names.query = row;
  if (cols.role === "k") names.key = col;
  return names;
}

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
 * @param {any} parts
 * @param {{hover: (cell: {row: number, col: number}|null) => void, zoom: (view: any) => void}} heard
 */
export function followPointer(parts, { hover, zoom }) {
  const cellOf = ({ points }) => ({ row: points[0].y, col: points[0].x });
  plotly.on(parts.plot, "plotly_click", (event) => {
    const { row, col } = cellOf(event);
    parts.frame.focus({ preventScroll: true });
    parts.matrix.onChoose(row, col);
  });
  plotly.on(parts.plot, "plotly_hover", (event) => hover(cellOf(event)));
  plotly.on(parts.plot, "plotly_unhover", () => hover(null));
  plotly.on(parts.plot, "plotly_relayout", (change) => {
    if (Object.keys(change).some((name) => /axis\d*\.(range|autorange)/.test(name))) zoom(plotly.ranges(parts.plot));
  });
  plotly.on(parts.plot, "plotly_doubleclick", () => zoom(null));
}
