/** The text about one cell: in a sentence below the matrix, and in a tooltip over it. */

import { replace, update } from "../../ui/dom.js";
import { showTip } from "./tip.js";

/** The cell under the pointer, or else the chosen one. @param {{row: number, col: number}|null} cell */
export function showReadout(parts, cell) {
  const { matrix, readout, tip } = parts;
  const { row, col } = cell ?? matrix.chosen;
  parts.hovered = cell;
  // Only a choice is read aloud: a moving pointer would never stop talking.
  update(readout, {
    "aria-live": cell ? "off" : "polite",
    dataset: { row, col, value: matrix.values[row * matrix.shape[1] + col], ...placeOf(matrix, row, col) },
  });
  const words = matrix.describe(row, col);
  const text = words.map((word) => word.textContent ?? word).join("");
  if (readout.textContent !== text) replace(readout, ...words);
  showTip(tip, cell, parts);
}

/** The names of a cell's place, for `data-*`: query and key where the axes are these. */
function placeOf({ rows, cols }, row, col) {
  const names = {};
  if (rows.role === "q") names.query = row;
  if (cols.role === "k") names.key = col;
  return names;
}
