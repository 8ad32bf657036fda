/** One head before and after, cell over cell: if only one has PADs, the sentence's own cells are aligned. */

import { inside } from "./measure.js";

/** No reason of the model's: there was no PAD in the other run, so there is nothing to set beside it. */
export const ABSENT = 16;

/** @typedef {import("../../data/model_trace.js").Detail} Detail  @typedef {import("../sides.js").Side} Side */

/** @typedef {Pick<Detail, "overview"|"mask"> & {start: number[]}} Laid */

/** @type {WeakMap<Detail, Laid>} */
const placed = new WeakMap();

/**
 * The weights and the mask of a run without PADs, placed at the sentence's positions in the other run.
 * @param {Detail} detail @param {{queries: Side, keys: Side}} sides  of the other run
 * @returns {Pick<Detail, "overview"|"mask">} the same object for the same question
 */
export function laid(detail, { queries, keys }) {
  const [nQuery, nKey] = detail.overview.shape;
  const shape = [queries.tokens.length, keys.tokens.length];
  if (nQuery === shape[0] && nKey === shape[1]) return detail;
  const start = [queries.real.start, keys.real.start];
  const known = placed.get(detail);
  if (known && same(known.overview.shape, shape) && same(known.start, start)) return known;
  const weights = new Float32Array(shape[0] * shape[1]);
  const mask = new Uint8Array(weights.length).fill(ABSENT);
  for (let row = 0; row < nQuery; row++) {
    const at = (row + start[0]) * shape[1] + start[1];
    weights.set(detail.overview.data.subarray(row * nKey, (row + 1) * nKey), at);
    mask.set(detail.mask.data.subarray(row * nKey, (row + 1) * nKey), at);
  }
  const made = { start, overview: { shape, data: weights }, mask: { shape, data: mask } };
  placed.set(detail, made);
  return made;
}

/** @param {number[]} a @param {number[]} b */
const same = (a, b) => a[0] === b[0] && a[1] === b[1];

/** @type {WeakMap<object, {before: object, made: any}>} */
const subtracted = new WeakMap();

/**
 * after − before. Empty (`forbidden`) where both forbid, and in the rows of PADs, which had no row before; a PAD's
 * column had no weight before.
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
