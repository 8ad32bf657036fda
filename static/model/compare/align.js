/** One head before and after, cell by cell: cells of the other run are placed where compare() aligns their tokens. */

import { inside } from "./measure.js";

/**
 * @import { Detail } from "../../data/model_trace.js"
 * @import { Side } from "../sides.js"
 * @import { Alignment } from "./compare.js"
 */

/** Not a reason of the model's: the other run has no PAD, so this cell has no counterpart. */
export const ABSENT = 16;

/** @typedef {Pick<Detail, "overview"|"mask">} Laid */

/** @type {WeakMap<Detail, {places: string, made: Laid}>} */
const placed = new WeakMap();

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
  const places = `${rows} ${cols}`;
  const known = placed.get(detail);
  if (known?.places === places) return known.made;
  const made = moved(detail, rows, cols);
  placed.set(detail, { places, made });
  return made;
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

/** @param {Detail} detail @param {number[]} rows @param {number[]} cols @returns {Laid} */
function moved({ overview, mask }, rows, cols) {
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
}

/** @type {WeakMap<object, {before: object, made: any}>} */
const subtracted = new WeakMap();

/**
 * after − before. Empty (`forbidden`) where both runs forbid a cell, and in the rows of PADs, which had no row before.
 * A PAD's column had no weight before.
 * @param {Pick<Detail, "overview"|"mask">} before  laid @param {Pick<Detail, "overview"|"mask">} after
 * @param {Side} queries
 * @returns {{values: Float32Array, forbidden: Uint8Array}}
 */
export function difference(before, after, { real }) {
  const known = subtracted.get(after.overview);
  if (known?.before === before.overview) return known.made;
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
  const made = { values, forbidden };
  subtracted.set(after.overview, { before: before.overview, made });
  return made;
}
