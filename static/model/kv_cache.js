/** What a KV cache keeps of a text, and what a step costs with it and without: counted from a model's shapes. No DOM. */

import {
  answeringStack,
  attentionsOf,
  has,
  isCross,
  overviewOf,
  scoresAreProducts,
  sumsValues,
  tapOf,
} from "./description.js";
import { sideOf } from "./sides.js";
import { REASONS } from "./taps.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Attention, Model } from "./description.js"
 */

/** The attentions of the stack that writes. @param {Model} model */
const readBy = (model) => attentionsOf(model).filter(({ stack }) => stack === answeringStack(model).id);

/** The attention whose keys and values a step reads again; null: the model keeps a state, or nothing. @param {Model} model @returns {Attention|null} */
export function cachedAttention(model) {
  const own = readBy(model).find((one) => !isCross(one));
  return own && keepsKeys(own) ? own : null;
}

/** The attention to the source, whose keys and values are made once; null: there is none. @param {Model} model @returns {Attention|null} */
export const crossAttention = (model) => readBy(model).find((one) => isCross(one) && keepsKeys(one)) ?? null;

/** @param {Attention} attention */
const keepsKeys = (attention) => has(attention, "k") && has(attention, "v") && has(attention, "scores");

/** What later tokens need of all earlier ones where sums over them are enough: the logarithm of the sum of their weights, and the mean of their values. */
export const STATE_ROLES = /** @type {const} */ (["state_log_sum", "state_mean"]);

/** The attention that carries a state instead of keys and values; null: the model has none. @param {Model} model @returns {Attention|null} */
export const recurrentAttention = (model) =>
  readBy(model).find((one) => STATE_ROLES.every((role) => has(one, role))) ?? null;

/** The taps of the states of some layers. @param {Attention} attention @param {number[]} layers */
export const stateTaps = (attention, layers) =>
  layers.flatMap((layer) => STATE_ROLES.map((role) => tapOf(attention, layer, role)));

/** Bytes of the states in float32, of all layers: the same for any number of tokens. @param {Attention} attention */
export const stateBytes = ({ n_layer, n_head, d_head }) => 4 * STATE_ROLES.length * n_layer * n_head * d_head;

/** How many tokens the cached side has. @param {Attention} attention @param {Parameters<typeof sideOf>[0]} sides */
export const tokensOf = ({ keys }, sides) => sideOf(sides, keys).tokens;

/**
 * @typedef {{weights: number, attention: number}} StepCost  multiply-adds of matrix products: with weights, and of scores and
 *   weighted values
 * @typedef {{tokens: number, source: number}} Lengths  of what is written, the newest included, and of what an encoder has read
 */

/**
 * What the step that reads the newest of `tokens` multiplies. With a cache it computes one row, without it all of them: the
 * projections q, k, v, o, the FFN and the unembedding of each row; scores and weighted values over all keys. Keys and values of
 * the source are made before the first step, or again in each. null: an attention is not made of these products alone.
 * @param {Model} model @param {Lengths & {cached: boolean}} of @returns {StepCost|null}
 */
export function stepCost(model, { tokens, source, cached }) {
  const [all, stack] = [readBy(model), answeringStack(model)];
  if (!all.length || !all.every((one) => scoresAreProducts(one) && sumsValues(one))) return null;
  const { d_model: d, vocab_size: vocab } = model.description;
  const rows = cached ? 1 : tokens;
  const ffns = stack.layers.flatMap(({ sublayers }) => sublayers.filter(({ kind }) => kind === "ffn"));
  const ffn = ffns.reduce((sum, /** @type {any} */ one) => sum + (one.gate ? 3 : 2) * d * one.d_ff, 0);
  const cost = { weights: rows * (ffn + d * vocab), attention: 0 };
  for (const one of all) {
    const [queries, keys] = [one.d_head * one.n_head, one.d_head * one.n_kv_head];
    const made = isCross(one) ? (cached ? 0 : source) : rows; // positions whose k and v are computed
    cost.weights += one.n_layer * 2 * d * (rows * queries + made * keys);
    cost.attention += one.n_layer * 2 * rows * (isCross(one) ? source : tokens) * queries;
  }
  return cost;
}

/**
 * What the steps that wrote tokens `first` to `last` multiply with a cache and without it, and how many times as much that is; null: it is
 * not counted, or there are none.
 * @param {Model} model @param {{first: number, last: number, source: number}} steps
 */
export function costOfSteps(model, steps) {
  const [less, more] = [true, false].map((cached) => sumOfSteps(model, steps, () => cached));
  return less && more ? { less, more, times: more / less } : null;
}

/**
 * What these steps multiply, each with a cache or without; null: it is not counted.
 * @param {Model} model @param {{first: number, last: number, source: number}} steps @param {(tokens: number) => boolean} isCached  by the number of tokens that the step reads
 * @returns {number|null}
 */
export function sumOfSteps(model, { first, last, source }, isCached) {
  let sum = 0;
  for (let tokens = first; tokens <= last; tokens++) {
    const cost = stepCost(model, { tokens, source, cached: isCached(tokens) });
    if (!cost) return null;
    sum += cost.weights + cost.attention;
  }
  return sum;
}

/** Bytes of keys and values in float32, of all layers. @param {Model} model @param {Lengths} lengths */
export function keyBytes(model, { tokens, source }) {
  const numbers = readBy(model).map(
    (one) => 2 * one.n_layer * one.n_kv_head * one.d_head * (isCross(one) ? source : tokens),
  );
  return 4 * numbers.reduce((sum, one) => sum + one, 0);
}

/**
 * Which keys the newest query of a layer may not attend to any more, because they are too far; none where pictures are pooled.
 * @param {ModelTrace} trace @param {Attention} attention @param {number} layer @returns {boolean[]}
 */
export function beyondWindow(trace, attention, layer) {
  const n = tokensOf(attention, trace.sides).length;
  if (trace.pool > 1 || !overviewOf(attention) || !has(attention, "mask")) return [];
  const row = trace.mask(layer, 0, attention.id).subarray(-n);
  return Array.from(row, (reason) => (reason & REASONS.window) !== 0);
}

/** The taps of the keys and values of some layers. @param {Attention} attention @param {number[]} layers */
export const keyTaps = (attention, layers) =>
  layers.flatMap((layer) => ["k", "v"].map((role) => tapOf(attention, layer, role)));
