/** Which heads the picture has, and which decide most. No DOM. */

import { sideOf } from "../../model/sides.js";
import { ratioOf } from "./head_squares.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Attention } from "../../model/description.js"
 * @import { Facts } from "../facts/facts.js"
 * @import { Head } from "./head_squares.js"
 * @import { HeadsOf, Scene } from "./layout.js"
 */

/** The attentions of a stack that have pictures. @param {ModelTrace} trace @param {string} stack */
const pictured = ({ attentions }, stack) => attentions.filter((one) => one.stack === stack && one.overview !== null);

/** Between which attentions the reader can choose: the answering stack's, the last one first. @param {ModelTrace} trace @param {Facts} facts */
export const choicesOf = (trace, { rolled }) => pictured(trace, rolled[0].river.stack).reverse();

/**
 * One attention of each stack, the answering one's as chosen.
 * @param {ModelTrace} trace @param {Facts} facts @param {string|null} chosen @returns {HeadsOf[]}
 */
export function headsOf(trace, facts, chosen) {
  return facts.rolled.flatMap(({ river: { stack } }) => {
    const all = pictured(trace, stack);
    const attention = all.find(({ id }) => id === chosen) ?? all[all.length - 1];
    if (!attention) return [];
    const [nQuery, nKey] = [attention.queries, attention.keys].map((side) => sideOf(trace.sides, side).tokens.length);
    const { id, n_head: count } = attention;
    /** @param {number} layer */
    const order = (layer) => decisive(trace, facts, attention, layer);
    return [{ stack, attention: id, count, ratio: ratioOf(nQuery, nKey), order }];
  });
}

/** Heads, those that look at what decides first; in their order where pictures are pooled, which do not say it. @param {ModelTrace} trace @param {Facts} facts @param {Attention} attention @param {number} layer */
function decisive(trace, facts, attention, layer) {
  if (trace.pool > 1) return Array.from({ length: attention.n_head }, (_, head) => head);
  const effects = [...(facts.measured?.effects.values() ?? [])].filter(
    (one) => one.attention === attention.id && one.layer === layer,
  );
  const scores = Array.from({ length: attention.n_head }, (_, head) => {
    const picture = trace.picture(layer, head, attention.id);
    return effects.reduce((sum, { query, key, delta }) => {
      const weight = picture ? picture.data[query * picture.n_key + key] / 255 : 0;
      return sum + Math.abs(delta) * weight;
    }, 0);
  });
  return [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b);
}
