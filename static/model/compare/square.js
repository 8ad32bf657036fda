/** A head's weights with everything needed to measure them: see measure.js. */

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Attention } from "../description.js"
 * @import { Side } from "../sides.js"
 * @import { Square } from "./measure.js"
 */

/**
 * A leak is weight that training never allowed: on PADs and, for a model with a causal mask, on later tokens.
 * @param {ArrayLike<number>} data  row after row
 * @param {Attention} attention
 * @param {Side} queries @param {Side} keys
 * @returns {Square}
 */
export function squareOf(data, { causal }, queries, keys) {
  return { data, size: keys.tokens.length, real: keys.real, rows: queries.real, later: causal };
}

/** The square of the open head. @param {ModelTrace} trace @param {any} detail  a Detail of it */
export function openSquare({ attention, queries, keys }, { overview }) {
  return squareOf(overview.data, attention, queries, keys);
}
