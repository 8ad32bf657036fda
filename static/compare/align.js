/** One head before and after, cell over cell: where only one has PADs, the sentence's own cells lie together. */

import { inside } from "./measure.js";

/** No reason of the model's: there was no PAD in the other run, so there is nothing to set beside it. */
export const ABSENT = 16;

/** @typedef {import("../data/model_trace.js").Detail} Detail  @typedef {import("./measure.js").Span} Span */

/** @type {WeakMap<Detail, Detail>} */
const placed = new WeakMap();

/**
 * The weights and the mask of a run without PADs, laid where the sentence stands among `size` tokens.
 * @param {Detail} detail @param {number} size @param {Span} real
 * @returns {Pick<Detail, "pattern"|"mask">} the same object for the same question
 */
export function laid(detail, size, real) {
  const n = detail.pattern.shape[0];
  if (n === size) return detail;
  const known = placed.get(detail);
  if (known?.pattern.shape[0] === size && known.start === real.start) return known;
  const pattern = new Float32Array(size * size);
  const mask = new Uint8Array(size * size).fill(ABSENT);
  for (let row = 0; row < n; row++) {
    const at = (row + real.start) * size + real.start;
    pattern.set(detail.pattern.data.subarray(row * n, (row + 1) * n), at);
    mask.set(detail.mask.data.subarray(row * n, (row + 1) * n), at);
  }
  const square = (data) => ({ shape: [size, size], data });
  const made = { start: real.start, pattern: square(pattern), mask: square(mask) };
  placed.set(detail, /** @type {any} */ (made));
  return /** @type {any} */ (made);
}

/** @type {WeakMap<object, {before: object, made: any}>} */
const subtracted = new WeakMap();

/**
 * after − before. Empty (`forbidden`) where both forbid, and in the rows of PADs, which had no row before; a PAD's
 * column had no weight before.
 * @param {Pick<Detail, "pattern"|"mask">} before  laid @param {Pick<Detail, "pattern"|"mask">} after
 * @param {Span} real
 * @returns {{values: Float32Array, forbidden: Uint8Array}}
 */
export function difference(before, after, real) {
  const known = subtracted.get(after.pattern);
  if (known?.before === before.pattern) return known.made;
  const size = after.pattern.shape[0];
  const [was, is] = [before.pattern.data, after.pattern.data];
  const values = new Float32Array(size * size);
  const forbidden = new Uint8Array(size * size);
  for (let at = 0; at < values.length; at++) {
    if (inside(real, Math.floor(at / size))) {
      forbidden[at] = before.mask.data[at] ? after.mask.data[at] : 0;
      values[at] = is[at] - was[at];
    } else forbidden[at] = ABSENT;
  }
  const made = { values, forbidden };
  subtracted.set(after.pattern, { before: before.pattern, made });
  return made;
}
