/** A·V as numbers: one head's z, what each key contributes, and how much. No DOM. */

import { columnIn, largest, lengthOf, products, rowIn } from "../../model/matrix.js";
import { knowsScores } from "../../model/mechanism_needs.js";
import { scoringOf, valuesFor } from "../../model/scoring.js";
import { position } from "../../model/selection.js";

/** @import { Detail, ModelTrace } from "../../data/model_trace.js" */

/** @typedef {{shape: number[], data: Float32Array}} Matrix */

/** The chosen element of the open query: the state's dimension, or else the largest. @param {Matrix} z */
export function elementOf(state, trace, z) {
  const { query, key } = position(state, trace);
  const [asked, width] = [state.cell?.[1] ?? Infinity, z.shape[1]];
  const own = Math.floor(asked / width) === state.head ? asked % width : asked; // chosen where all heads are side by side
  const dimension = own < width ? own : largest(rowIn(z, query));
  return { query, key, dimension };
}

/** The detail with what each key passes on to this query: where the distance adds to a value, v with that. @param {ModelTrace} trace @param {number} query @returns {any} */
export function valued(trace, query) {
  const detail = /** @type {Detail} */ (trace.detail);
  const { distance } = knowsScores(trace.attention) ? scoringOf(trace) : { distance: null };
  return { ...detail, v: valuesFor({ v: detail.v, distance }, query) };
}

/** The terms a_j · v_jd of one element of z: a number for each key. @param {{pattern: Matrix, v: Matrix}} detail @param {number} query @param {number} d */
export function termsOf({ pattern, v }, query, d) {
  const weights = rowIn(pattern, query);
  const column = columnIn(v, d);
  return { weights, column, terms: products(weights, column) };
}

/** a_j · v_jd of one query, for all keys and dimensions. @param {Matrix} v @param {ArrayLike<number>} weights @returns {Matrix} */
export function weighted({ shape, data }, weights) {
  const [rows, cols] = shape;
  const out = new Float32Array(rows * cols);
  for (let j = 0, i = 0; j < rows; j++) for (let d = 0; d < cols; d++, i++) out[i] = weights[j] * data[i];
  return { shape, data: out };
}

/**
 * The length a·‖v‖ of the vector that each key contributes to a query, longest first.
 * @param {Matrix} v @param {ArrayLike<number>} weights
 * @returns {{key: number, weight: number, length: number, moved: number}[]}
 */
export function sharesOf(v, weights) {
  const all = Array.from(weights, (weight, key) => {
    const length = lengthOf(rowIn(v, key));
    return { key, weight, length, moved: weight * length };
  });
  return all.filter(({ moved }) => moved > 0).sort((a, b) => b.moved - a.moved);
}
