/**
 * Which words fed what was written: of each written token, what the row that predicted it attended to, or (rollout) what of every
 * token reached it; and the sum over the text as it grows. No DOM.
 */

import { rollout } from "./contribution_rollout.js";
import { answeringStack, attentionOf, attentionsOf, overviewOf } from "./description.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { River } from "../data/wire.js"
 * @import { Attention } from "./description.js"
 */

/** @typedef {"river"|"head"|"heads"} FedBy  shares multiplied back through the layers, the open head's weights, or their mean over all heads of the attention */
/** @typedef {Partial<Record<"source"|"target", Float64Array>>} Fed  by side: of each of its tokens, between 0 and 1; of one written token they sum to 1 */

/** Whether the trace has the numbers. @param {ModelTrace} trace @param {FedBy} by @param {string|null} attention */
export function canTell(trace, by, attention) {
  if (by === "river") return Boolean(trace.explained.route?.rivers) && trace.written !== null;
  return trace.pool === 1 && Boolean(trace.written) && readerOf(trace, attention) !== undefined;
}

/**
 * The open attention if the writing side's rows are its queries, otherwise the last that is: of a translator the one to the source.
 * @param {ModelTrace} trace @param {string|null} id @returns {Attention|undefined}
 */
export function readerOf({ model, written }, id) {
  const reads = (/** @type {Attention} */ one) => one.queries === written?.side && overviewOf(one) !== null;
  const open = attentionOf(model, id);
  return reads(open) ? open : attentionsOf(model).filter(reads).at(-1);
}

/**
 * What fed the token after `row`: the row that predicted it.
 * @param {ModelTrace} trace @param {Exclude<FedBy, "river">} by @param {{attention: string|null, layer: number, head: number}} open
 * @param {number} row @returns {Fed}
 */
export function attendedFrom(trace, by, open, row) {
  const reader = /** @type {Attention} */ (readerOf(trace, open.attention));
  const all = Array.from({ length: reader.n_layer }, (_, layer) => layer);
  const heads = (/** @type {number} */ layer) => Array.from({ length: reader.n_head }, (_, head) => ({ layer, head }));
  const own = { layer: Math.min(open.layer, reader.n_layer - 1), head: Math.min(open.head, reader.n_head - 1) };
  const chosen = by === "head" ? [own] : all.flatMap(heads);
  const rows = chosen.map(({ layer, head }) => trace.row(layer, head, row, reader.id) ?? []);
  const sum = new Float64Array(rows[0].length);
  for (const one of rows) for (let key = 0; key < sum.length; key++) sum[key] += one[key] / rows.length;
  return { [reader.keys]: sum };
}

/**
 * The same of the river: what is left of the row at the bottom of each stack.
 * @param {ModelTrace} trace @param {River[]} rivers @param {number} row @returns {Fed}
 */
export const reachedFrom = ({ model }, rivers, row) =>
  Object.fromEntries(rollout(rivers, answeringStack(model).id, row).map(({ river, at }) => [river.side, at[0]]));

/**
 * The written tokens, oldest first: of each the place of the token, and the row that predicted it. @param {ModelTrace} trace
 * @param {number} nPrompt  tokens that were there before
 */
export function writtenAfter({ written }, nPrompt) {
  if (!written) return [];
  const { start, end } = written.real;
  const first = start + Math.max(1, nPrompt);
  return Array.from({ length: Math.max(0, end - first) }, (_, i) => ({ at: first + i, row: first + i - 1 }));
}

/** The mean of several written tokens, so that it sums to 1 as well. @param {Fed[]} all @returns {Fed} */
export function meanFed(all) {
  /** @type {Fed} */
  const sum = {};
  for (const one of all)
    for (const [side, shares] of /** @type {["source"|"target", Float64Array][]} */ (Object.entries(one))) {
      const own = sum[side] ?? new Float64Array(shares.length);
      sum[side] = own;
      for (let i = 0; i < shares.length; i++) own[i] += shares[i] / all.length;
    }
  return sum;
}
