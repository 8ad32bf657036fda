/**
 * Compares any two runs: which of their tokens correspond, what can be compared, and why the rest cannot. Before and
 * after a mask is one case.
 *
 * @typedef {"source"|"target"} SideName
 * @typedef {"other_model"|"other_source"|"other_target"} Reason
 * @typedef {{at: (index: number) => number|null}} Alignment  from an index in A to the same token's in B; null: not there
 * @typedef {{what: "weights", attention: string, reason: Reason|null}|{what: "logits", reason: Reason|null}} Pair
 * @typedef {{sides: {source: Alignment|null, target: Alignment|null}, pairs: Pair[]}} Comparison
 */

import { memo } from "../memo.js";
import { inside } from "../sides.js";

/**
 * @import { Detail, Floats, ModelTrace } from "../../data/model_trace.js"
 * @import { Head } from "../edits.js"
 * @import { Run } from "../../state/run.js"
 * @import { Side } from "../sides.js"
 */

// One head before and after, cell by cell: cells of the other run are placed where compare() aligns their tokens.

/** Not a reason that the model knows: the other run has no PAD, so this cell has no counterpart. */
export const ABSENT = 16;

/** @typedef {Pick<Detail, "overview"|"mask">} Laid */

/**
 * The weights and the mask of run B, placed on the tokens of run A.
 * @param {Detail} detail  of B @param {{queries: Side, keys: Side}} sides  of A
 * @param {{queries: Alignment, keys: Alignment}} at  from A to B
 * @returns {Laid} the same object for the same arguments; `detail` itself if every token has its own place
 */
export function laid(detail, { queries, keys }, at) {
  const [nQuery, nKey] = detail.overview.shape;
  const rows = placesOf(queries, at.queries, nQuery);
  const cols = placesOf(keys, at.keys, nKey);
  if (isUnmoved(rows, nQuery) && isUnmoved(cols, nKey)) return detail;
  return moved(detail, rows, cols);
}

/** The index of each token of A among the `n` of B; -1: none. @param {Side} side @param {Alignment} alignment @param {number} n */
function placesOf({ tokens }, alignment, n) {
  return tokens.map((_, index) => {
    const place = alignment.at(index);
    return place !== null && place < n ? place : -1;
  });
}

/** @param {number[]} places @param {number} n */
const isUnmoved = (places, n) => places.length === n && places.every((place, index) => place === index);

/** @type {(detail: Detail, rows: number[], cols: number[]) => Laid} */
const moved = memo(
  ({ overview, mask }, rows, cols) => {
    const shape = [rows.length, cols.length];
    const weights = new Float32Array(rows.length * cols.length);
    const reasons = new Uint8Array(weights.length).fill(ABSENT);
    for (const [row, query] of rows.entries()) {
      for (const [col, key] of cols.entries()) {
        if (query < 0 || key < 0) continue;
        const from = query * overview.shape[1] + key;
        weights[row * cols.length + col] = overview.data[from];
        reasons[row * cols.length + col] = mask.data[from];
      }
    }
    return { overview: { shape, data: weights }, mask: { shape, data: reasons } };
  },
  (detail, rows, cols) => [detail, `${rows} ${cols}`],
);

/**
 * after − before. Empty (`forbidden`) where both runs forbid a cell, and in the rows of PADs, which had no row before.
 * A PAD's column had no weight before.
 * @type {(before: Laid, after: Laid, queries: Side) => {values: Float32Array, forbidden: Uint8Array}}  `before`: laid
 */
export const difference = memo(
  (before, after, { real }) => {
    const [, nKey] = after.overview.shape;
    const [was, is] = [before.overview.data, after.overview.data];
    const values = new Float32Array(is.length);
    const forbidden = new Uint8Array(is.length);
    for (let at = 0; at < values.length; at++) {
      if (inside(real, Math.floor(at / nKey))) {
        forbidden[at] = before.mask.data[at] ? after.mask.data[at] : 0;
        values[at] = is[at] - was[at];
      } else forbidden[at] = ABSENT;
    }
    return { values, forbidden };
  },
  (before, after) => [after.overview, before.overview],
);

/**
 * after − before of a matrix with a row for each query, on the rows of A. Empty (`forbidden`) where a row has no counterpart.
 * @param {Floats} own  of A @param {Floats} other  of B @param {Alignment} alignment  from A to B @param {boolean} isBefore  whether A is before
 */
export function rowsChanged({ shape, data }, other, alignment, isBefore) {
  const [rows, cols] = shape;
  const values = new Float32Array(rows * cols);
  const forbidden = new Uint8Array(values.length);
  const sign = isBefore ? -1 : 1;
  for (let row = 0; row < rows; row++) {
    const there = alignment.at(row);
    if (there === null || there >= other.shape[0]) forbidden.fill(ABSENT, row * cols, (row + 1) * cols);
    else
      for (let d = 0; d < cols; d++)
        values[row * cols + d] = sign * (data[row * cols + d] - other.data[there * cols + d]);
  }
  return { shape, values, forbidden };
}

/** Less than this is rounding. */
export const ROUNDING = 1e-6;

/** Whether nothing changed. @param {Float32Array} values  after − before */
export const isUnchanged = (values) => values.every((value) => Math.abs(value) < ROUNDING);

/** What a difference shows of some heads: where none of them changed, their weights. @typedef {"changed"|"unchanged"} HeadsChange */

/** Whether the picture of any of these heads changed; one that is not here may have. @type {(trace: Pick<ModelTrace, "picture"|"pictureBefore">, heads: Head[]) => HeadsChange} */
export const headsChange = memo(({ picture, pictureBefore }, heads) => {
  const moved = heads.some(({ layer, head, attention }) => {
    const [now, was] = [picture, pictureBefore].map((of) => of?.(layer, head, attention)?.data);
    return !now || !was || now.some((weight, i) => weight !== was[i]);
  });
  return moved ? "changed" : "unchanged";
});

/**
 * The index of a side's first token: PADs on the left move the source. A target has none.
 * @param {Pick<Run, "pad">} run @param {SideName} side
 */
export const startOf = ({ pad }, side) => (side === "source" && pad.side === "left" ? pad.count : 0);

/**
 * @param {Run} a @param {Run} b
 * @param {{attentions: {id: string, queries: SideName, keys: SideName}[], written: SideName|null}} model  of run A
 * @returns {Comparison}
 */
export function compare(a, b, { attentions, written }) {
  const sides = { source: sourceAlignment(a, b), target: targetAlignment(a, b) };
  /** @param {(SideName|null)[]} needed @returns {Reason|null} */
  const reasonOf = (needed) => {
    if (a.model !== b.model) return "other_model";
    const missing = needed.find((side) => side !== null && sides[side] === null);
    return missing ? `other_${missing}` : null;
  };
  return {
    sides,
    pairs: [
      ...attentions.map(
        ({ id, queries, keys }) =>
          /** @type {Pair} */ ({ what: "weights", attention: id, reason: reasonOf([queries, keys]) }),
      ),
      { what: "logits", reason: reasonOf([written]) },
    ],
  };
}

/**
 * Aligns the same text, or the same ids in any order; and the PADs, if both have equally many on the same side.
 * @param {Run} a @param {Run} b @returns {Alignment|null}
 */
function sourceAlignment(a, b) {
  const [from, to] = [startOf(a, "source"), startOf(b, "source")];
  if (sameInput(a, b)) return samePads(a, b) ? shifted(0, 0) : shifted(from, to);
  if (!("token_ids" in a.input && "token_ids" in b.input)) return null;
  const places = permutation(a.input.token_ids, b.input.token_ids);
  const pad = samePads(a, b) ? (/** @type {number} */ index) => index : () => null;
  return places && { at: (index) => placed(places[index - from], to) ?? pad(index) };
}

/** Without a given target it is the model's own, which depends only on the sentence, not on masks and PADs. @param {Run} a @param {Run} b */
function targetAlignment(a, b) {
  const same = sameTarget(a, b) && (a.target !== null || a.target_ids !== null || sameInput(a, b));
  return same ? shifted(0, 0) : null;
}

/** @param {Run} a @param {Run} b */
const sameTarget = (a, b) => a.target === b.target && JSON.stringify(a.target_ids) === JSON.stringify(b.target_ids);
/** @param {Run} a @param {Run} b */
const sameInput = (a, b) => JSON.stringify(a.input) === JSON.stringify(b.input);

/** @param {Run} a @param {Run} b */
const samePads = (a, b) => a.pad.count === b.pad.count && a.pad.side === b.pad.side;

/** @param {number} from @param {number} to @returns {Alignment} */
const shifted = (from, to) => ({ at: (index) => (index < from ? null : index - from + to) });

/** @param {number|undefined} place @param {number} start */
const placed = (place, start) => (place === undefined ? null : place + start);

/**
 * The position of each of `ids` in `others` (equal ones in their order); null if they are not the same ids.
 * @param {number[]} ids @param {number[]} others @returns {number[]|null}
 */
function permutation(ids, others) {
  if (ids.length !== others.length) return null;
  /** @type {Map<number, number[]>} */
  const free = new Map();
  others.forEach((id, i) => free.set(id, [...(free.get(id) ?? []), i]));
  const places = ids.map((id) => free.get(id)?.shift());
  return places.includes(undefined) ? null : /** @type {number[]} */ (places);
}
