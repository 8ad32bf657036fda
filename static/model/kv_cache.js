/** What a KV cache keeps of a text, and what a step costs with it and without: counted from a model's shapes. No DOM. */

import { attentionsOf, has, scoresDotProducts, stacksOf, sumsValues } from "./description.js";
import { sideOf } from "./sides.js";

/**
 * @import { Attention, Model } from "./description.js"
 */

/** The attention whose keys and values a step reads again; null: the model keeps a state, or nothing. @param {Model} model @returns {Attention|null} */
export function cachedAttention(model) {
  const written = model.description.writes;
  const own = attentionsOf(model).find(({ queries, keys }) => queries === written && keys === written);
  return own && has(own, "k") && has(own, "v") && has(own, "scores") ? own : null;
}

/**
 * Multiply-adds of a step, of a model with one stack and plain softmax(QKᵀ/√d) V; null for any other, which computes more than is
 * counted here. For each of the `rows` that are computed: the projections q, k, v, o, the FFN, and scores and weighted values over all
 * `tokens`; the unembedding once.
 * @param {Model} model @param {{tokens: number, rows: number}} of @returns {number|null}
 */
export function multiplyAdds(model, { tokens, rows }) {
  const attention = cachedAttention(model);
  const [stack, ...others] = stacksOf(model);
  if (!attention || !scoresDotProducts(attention) || !sumsValues(attention) || others.length) return null;
  const { d_model: d, vocab_size: vocab } = model.description;
  const { n_head: heads, n_kv_head: shared, d_head: each } = attention;
  const projections = d * each * (2 * heads + 2 * shared);
  const mixing = 2 * tokens * heads * each;
  const layers = stack.layers.map(({ sublayers }) => {
    const ffns = sublayers.filter(({ kind }) => kind === "ffn");
    const ffn = ffns.reduce((sum, /** @type {any} */ one) => sum + (one.gate ? 3 : 2) * d * one.d_ff, 0);
    return rows * (projections + mixing + ffn);
  });
  return layers.reduce((sum, one) => sum + one, d * vocab);
}

/** How many tokens the cached side has. @param {Attention} attention @param {Parameters<typeof sideOf>[0]} sides */
export const tokensOf = ({ keys }, sides) => sideOf(sides, keys).tokens;
