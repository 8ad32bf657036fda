/** The stacks of the picture: their rows (which tokens share one, which have a label) and columns. No DOM. */

import { peaksOf } from "../../model/contribution_rollout.js";

/**
 * @import { Rollout } from "../../model/contribution_rollout.js"
 * @import { SideName } from "../../model/description.js"
 * @import { Open } from "../view_state.js"
 * @import { Band, Column, Frame } from "./layout.js"
 */

/**
 * @typedef {{from: number, to: number}} Fold  tokens from … to − 1; one token, or several that share a row
 * @typedef {Fold & {y: number, height: number}} Row
 */

/** Up to this many tokens, each has its own row. */
const ALL_ROWS = 64;
/** A token that passes on less than this, in every layer, may share a row with its neighbours. */
const LITTLE = 0.01;

/**
 * A row for each token; in a long text, neighbours that hardly matter share one.
 * @param {number[]} peaks  the most that passes each token @param {number|null} chosen
 * @param {number[]} [unfolded]  the first tokens of the folds that the reader has opened
 * @returns {Fold[]}
 */
export function foldsOf(peaks, chosen, unfolded = []) {
  const alone = peaks.map((peak, i) => peaks.length <= ALL_ROWS || peak >= LITTLE || i === chosen);
  /** @type {Fold[]} */
  const folds = [];
  for (let from = 0; from < peaks.length; ) {
    let to = from + 1;
    if (!alone[from]) while (to < peaks.length && !alone[to]) to++;
    if (unfolded.includes(from)) for (let i = from; i < to; i++) folds.push({ from: i, to: i + 1 });
    else folds.push({ from, to });
    from = to;
  }
  return folds;
}

/** How many rows a picture has. @param {Rollout[]} rolled @param {number} row @param {number[][]} [unfolded] */
export const rowCount = (rolled, row, unfolded) =>
  rolled.flatMap((one, i) => foldsOf(peaksOf(one), i === 0 ? row : null, unfolded?.[i])).length;

/**
 * Rows of equal height from `top` on; the chosen one as much higher as its river is thick.
 * @param {Fold[]} folds @param {{top: number, pitch: number, chosen: number|null, thick: number}} size
 * @returns {Row[]}
 */
export function rowsOf(folds, { top, pitch, chosen, thick }) {
  let y = top;
  return folds.map((fold) => {
    const height = fold.from === chosen && fold.to === chosen + 1 ? Math.max(pitch, thick) : pitch;
    y += height;
    return { ...fold, y: y - height / 2, height };
  });
}

/** For each token the index of its row. @param {Fold[]} folds */
const rowIndex = (folds) => folds.flatMap(({ from, to }, i) => new Array(to - from).fill(i));

/**
 * The least share to be named before its neighbours, where every second or third has its name, so that names stay as a
 * text grows; and the least to be named where only the main ones are.
 */
const [MUCH, MAIN] = [0.2, 0.15];

/**
 * The rows whose labels fit: all; or the chosen one, those that matter much, and of the others as many as there is space for.
 * @param {Row[]} rows @param {number[]} peaks @param {{chosen: number|null, apart: number, others?: boolean, pitch?: number}} of  `apart`:
 *   between two labels; `others`: not only those that matter; `pitch`: from one of these rows to the next
 * @returns {Set<Row>}
 */
export function labelledRows(rows, peaks, { chosen, apart, others = true, pitch = rows[0]?.height || apart }) {
  const every = Math.ceil(apart / pitch - 0.01);
  const peakOf = (/** @type {Row} */ { from, to }) => Math.max(...peaks.slice(from, to));
  /** @param {Row} row */
  const counts = (row) => {
    const peak = peakOf(row);
    if (row.from === chosen) return Infinity;
    if (peak >= MUCH) return 1 + peak;
    return rows.length > ALL_ROWS ? peak : Number(rows.indexOf(row) % every === 0);
  };
  const named = others ? [...rows] : rows.filter((row) => row.from === chosen || peakOf(row) >= MAIN);
  return rowsApart(
    named.sort((a, b) => counts(b) - counts(a)),
    apart,
  );
}

/** Those of some rows whose names do not touch one of an earlier row. @param {Iterable<Row>} rows @param {number} apart  between two names @returns {Set<Row>} */
export function rowsApart(rows, apart) {
  /** @type {Row[]} */
  const kept = [];
  for (const row of rows) if (kept.every(({ y }) => Math.abs(y - row.y) >= apart)) kept.push(row);
  return new Set(kept);
}

/** The distance from one row to the next: the least, one that leaves space for a label, and the largest. */
const [LEAST_PITCH, LABELLED_PITCH, MOST_PITCH] = [5, 15, 25];

/** On the start page, which has no heads below them. */
const START_PITCH = 60;

/** Two labels are at least this far apart: where each row of a text has its own, in a strip, of two stacks, and where only some rows have theirs. */
const [OWN_PITCH, LABEL_PITCH, PITCH_OF_TWO, THINNED_PITCH] = [12, 12.5, 13.5, 13];

/** With more rows than this, rows are as near as these would be: labels thin out as soon as they would touch. */
const ALL_LABELS = 30;

/** All rows together need not be higher than this for their labels, nor than what the first screen leaves. */
const ENOUGH = 560;

/** Above the rows: the names of all stacks' layers, in one line that no river crosses; of the one layer on a phone; in the strip. Their baseline is this far over the rows. */
const [TITLE, TITLE_OF_ONE, TITLE_OF_STRIP] = [28, 24, 21];
const [BASELINE, BASELINE_OF_STRIP] = [12, 9];

/** Between the rows of two stacks; in the strip. */
const [BETWEEN, BETWEEN_IN_STRIP] = [18, 8];

/** The distance between a label and its row. */
export const LABEL_GAP = 14;

/** An open layer is not wider than this, as a part of the width or in pixels. */
const [OPEN_SHARE, OPEN_WIDTH] = [0.52, 640];

/**
 * The bands from top to bottom: the stacks that are read, then the one that answers, to the right of them.
 * @param {Rollout[]} rolled @param {number} row @param {Frame} frame @param {number} above  height of what is over them
 * @returns {Band[]} the answering one first
 */
export function bandsOf(rolled, row, frame, above) {
  const {
    room,
    type,
    fat,
    unfolded,
    width,
    right,
    wrote = 0,
    only = null,
    most = ENOUGH,
    strip = 0,
    mostPitch,
    large = false,
    low = false,
    waits = false,
    start = false,
    labelPitch = (strip ? LABEL_PITCH : rolled.length > 1 ? PITCH_OF_TWO : OWN_PITCH) * type,
  } = frame;
  const peaks = rolled.map(peaksOf);
  const folds = rolled.map((_, i) => foldsOf(peaks[i], i === 0 ? row : null, unfolded?.[i]));
  const count = folds.flat().length;
  const title = (strip ? TITLE_OF_STRIP : only ? TITLE_OF_ONE : TITLE) * type;
  const enough = LABELLED_PITCH * type * Math.min(1, ALL_LABELS / count);
  const named = count > ALL_LABELS ? LEAST_PITCH : labelPitch; // each has its name, in a low window, too
  const labels = Math.max(named, Math.min(enough, (Math.min(most, ENOUGH) - fat) / count));
  // One stack keeps its height while a text is written, and labels thin out.
  const least = large ? 0 : rolled.length > 1 ? labels : LEAST_PITCH;
  const others = Math.max(1, count - (rolled.length > 1 || mostPitch || only ? 0 : 1)); // than the chosen one, which is as high as its river
  const folded = waits && rolled.some(({ river }) => river.tokens > ALL_ROWS);
  const farthest = mostPitch ?? (start && !only ? START_PITCH : MOST_PITCH);
  const fitting = folded
    ? (room - LEAST_PITCH) / count
    : Math.min(farthest * type, Math.max(least, (room - fat) / others));
  const between = strip ? BETWEEN_IN_STRIP : BETWEEN;
  const pitch = strip ? (strip - fat - title - 4 - (rolled.length - 1) * between) / count : fitting;
  const columns = only ? onlyColumn(rolled, frame, only) : allColumns(rolled, frame);
  let top = above;
  let [titled, titles] = [false, 0];
  /** @param {Rollout} rollout @param {number} i @returns {Band} */
  const bandOf = ({ river: { stack, side } }, i) => {
    const away = only !== null && i === 0 && only.stack !== stack; // a decoder, while a layer of its encoder is drawn
    if (!away && (only !== null || !titled)) {
      top += title; // on a phone the one layer's name stands over its own rows
      titles = top - (strip ? BASELINE_OF_STRIP : BASELINE) * type;
      titled = true;
    }
    const chosen = i === 0 ? row : null;
    const rows = rowsOf(folds[i], { top, pitch: away ? 0 : pitch, chosen, thick: away ? 0 : fat });
    const last = rows[rows.length - 1];
    const fits = pitch + 0.01 >= labelPitch;
    const thinned = (count > ALL_LABELS ? LABELLED_PITCH : THINNED_PITCH) * type;
    const few = strip > 0 || folded; // of which some rows have a name
    const apart = few ? labelPitch : fits ? pitch - 0.01 : Math.max(labelPitch, thinned);
    const labelled = few
      ? rowsNamed(rows, namedIn(frame, side, chosen), apart)
      : labelledRows(away ? [] : rows, peaks[i], { chosen, apart, others: fits || !low });
    const bottom = last.y + last.height / 2;
    const at = { top, bottom, titles };
    const band = { stack, side, rows, index: rowIndex(folds[i]), labelled, apart, chosen, columns: columns[i], ...at };
    top = bottom + (away ? 0 : between);
    return { ...band, wrote: i ? 0 : wrote, end: width - right };
  };
  const placed = new Map(inOrder(rolled).map((i) => [i, bandOf(rolled[i], i)]));
  return [...rolled.keys()].map((i) => /** @type {Band} */ (placed.get(i)));
}

/** What the strip names of a stack: the chosen token, and the key of the chosen weight. @param {Frame} frame @param {SideName} side @param {number|null} chosen */
function namedIn({ chosen: edge }, side, chosen) {
  const keys = edge && edge.keys === side ? [edge.key] : [];
  return chosen === null ? keys : [chosen, ...keys];
}

/** The rows of these tokens, the first one's first; not one whose label would be over another's. @param {Row[]} rows @param {number[]} tokens @param {number} apart */
function rowsNamed(rows, tokens, apart) {
  return rowsApart(
    tokens.flatMap((token) => rows.filter(({ from, to }) => from <= token && token < to)),
    apart,
  );
}

/** The stacks as they run: those that are read first. @param {Rollout[]} rolled */
const inOrder = (rolled) => [...rolled.keys()].slice(1).concat(0);

/** Each stack to the right of the one that it reads; an open layer is the widest. @param {Rollout[]} rolled @param {Frame} frame @returns {Column[][]} */
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

/** One layer has the whole width; those before it are at its left edge, those after it at its right. @param {Rollout[]} rolled @param {Frame} frame @param {Open} only @returns {Column[][]} */
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
