/** What a matrix says about one cell: in words below it, and lit on both axes. */

import { h, replace, setText, update } from "./dom.js";

/** The cell under the pointer, else the one that is chosen. @param {{row: number, col: number}|null} cell */
export function showReadout(parts, cell) {
  const { matrix, readout, markers } = parts;
  const { row, col } = cell ?? matrix.chosen;
  parts.hovered = cell;
  // Only a choice is read aloud: a moving pointer would talk without end.
  update(readout, {
    "aria-live": cell ? "off" : "polite",
    dataset: { row, col, value: matrix.values[row * matrix.shape[1] + col], ...placeOf(matrix, row, col) },
  });
  const words = matrix.describe(row, col);
  const text = words.map((word) => word.textContent ?? word).join("");
  if (readout.textContent !== text) replace(readout, ...words);
  showMarkers(markers, cell, parts);
}

/** The names of a cell's place, for `data-*`: query and key where the axes are these. */
function placeOf({ rows, cols }, row, col) {
  const names = {};
  if (rows.role === "q") names.query = row;
  if (cols.role === "k") names.key = col;
  return names;
}

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
