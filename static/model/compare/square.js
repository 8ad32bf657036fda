/** A head's weights with what there is to know for measuring them: see measure.js. */

/**
 * A leak is weight that training never allowed: on PADs; under a causal mask on what comes later.
 * @param {ArrayLike<number>} data  row after row
 * @param {import("../attentions.js").Attention} attention
 * @param {import("../sides.js").Side} queries @param {import("../sides.js").Side} keys
 * @returns {import("./measure.js").Square}
 */
export function squareOf(data, { causal }, queries, keys) {
  return { data, size: keys.tokens.length, real: keys.real, rows: queries.real, later: causal };
}

/** The open head's. @param {import("../../data/model_trace.js").ModelTrace} trace @param {{pattern: {data: ArrayLike<number>}}} detail */
export function openSquare({ attention, queries, keys }, { pattern }) {
  return squareOf(pattern.data, attention, queries, keys);
}
