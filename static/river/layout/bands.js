/** The stacks of the picture: their rows and columns. No DOM. */

import { peaksOf } from "../../model/reach.js";
import { foldsOf, labelledRows, rowIndex, rowsOf } from "./rows.js";

/**
 * @import { Reach } from "../../model/reach.js"
 * @import { Open } from "../own.js"
 * @import { Band, Column, Frame } from "./layout.js"
 */

/** From one row to the next: room for a label, unless there are many rows. */
const [LEAST_PITCH, LABELLED_PITCH, MOST_PITCH] = [5, 15, 25];

/** Two labels are at least this far apart. */
const LABEL_PITCH = 12.5;

/** All rows together need not be higher than this for their labels, nor than what the first screen leaves. */
const ENOUGH = 560;

/** Above a stack's rows: the names of its layers. */
const TITLE = 28;

/** Between a label and its row. */
export const LABEL_GAP = 14;

/** An open layer is not wider than this, as a part of the width or in pixels. */
const [OPEN_SHARE, OPEN_WIDTH] = [0.52, 640];

/**
 * From top to bottom: those that are read, then the one that answers, to the right of them.
 * @param {Reach[]} rolled @param {number} row @param {Frame} frame @param {number} above  height of what is over them
 * @returns {Band[]} the answering one first
 */
export function bandsOf(rolled, row, frame, above) {
  const { room, type, fat, unfolded, width, right, wrote = 0, only = null, most = ENOUGH } = frame;
  const peaks = rolled.map(peaksOf);
  const folds = rolled.map((_, i) => foldsOf(peaks[i], i === 0 ? row : null, unfolded?.[i]));
  const count = folds.flat().length;
  const least = Math.max(LEAST_PITCH, Math.min(LABELLED_PITCH * type, (Math.min(most, ENOUGH) - fat) / count));
  const pitch = Math.min(MOST_PITCH * type, Math.max(least, (room - fat) / count));
  const columns = only ? onlyColumn(rolled, frame, only) : allColumns(rolled, frame);
  let top = above;
  /** @param {Reach} reach @param {number} i @returns {Band} */
  const bandOf = ({ river: { stack, side } }, i) => {
    const away = only !== null && i === 0 && only.stack !== stack; // a decoder, while a layer of its encoder is drawn
    top += away ? 0 : TITLE * type;
    const chosen = i === 0 ? row : null;
    const rows = rowsOf(folds[i], { top, pitch: away ? 0 : pitch, chosen, thick: away ? 0 : fat });
    const last = rows[rows.length - 1];
    const labelled = labelledRows(away ? [] : rows, peaks[i], chosen, Math.max(pitch - 0.01, LABEL_PITCH * type));
    const bottom = last.y + last.height / 2;
    const band = { stack, side, rows, index: rowIndex(folds[i]), labelled, chosen, columns: columns[i], top, bottom };
    top = bottom + 12;
    return { ...band, wrote: i ? 0 : wrote, end: width - right };
  };
  const placed = new Map(inOrder(rolled).map((i) => [i, bandOf(rolled[i], i)]));
  return [...rolled.keys()].map((i) => /** @type {Band} */ (placed.get(i)));
}

/** The stacks as they run: those that are read first. @param {Reach[]} rolled */
const inOrder = (rolled) => [...rolled.keys()].slice(1).concat(0);

/** Each stack to the right of the one that it reads; an open layer is the widest. @param {Reach[]} rolled @param {Frame} frame @returns {Column[][]} */
function allColumns(rolled, { width, right, labels, open = null }) {
  const layers = rolled.reduce((sum, { river }) => sum + river.layers, 0);
  const room = width - right - labels.reduce((sum, label) => sum + label + LABEL_GAP, 0);
  const even = room / layers;
  const wide = open && layers > 1 ? Math.max(even, Math.min(room * OPEN_SHARE, OPEN_WIDTH)) : even;
  const unit = open && layers > 1 ? (room - wide) / (layers - 1) : even;
  /** @type {Column[][]} */
  const columns = [];
  let x = 0;
  for (const i of inOrder(rolled)) {
    const { stack, layers } = rolled[i].river;
    x += labels[i] + LABEL_GAP;
    columns[i] = Array.from({ length: layers }, (_, layer) => {
      const x0 = x;
      x += open?.stack === stack && open.layer === layer ? wide : unit;
      return { x0, x1: x };
    });
  }
  return columns;
}

/** One layer has the whole width; those before it are at its left edge, those after it at its right. @param {Reach[]} rolled @param {Frame} frame @param {Open} only @returns {Column[][]} */
function onlyColumn(rolled, { width, right, labels }, only) {
  const [left, end] = [Math.max(...labels) + LABEL_GAP, width - right];
  /** @type {Column[][]} */
  const columns = [];
  let x = left;
  for (const i of inOrder(rolled)) {
    const { stack, layers } = rolled[i].river;
    columns[i] = Array.from({ length: layers }, (_, layer) => {
      const x0 = x;
      if (only.stack === stack && only.layer === layer) x = end;
      return { x0, x1: x };
    });
  }
  return columns;
}
