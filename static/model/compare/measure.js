/** How different two runs are, and what leaks. Pure functions on numbers, in float64. */

import { attentionsOf, overviewOf } from "../description.js";
import { memo } from "../memo.js";
import { inside, sideOf } from "../sides.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Decoded, Tensor } from "../../data/wire.js"
 * @import { Attention } from "../description.js"
 * @import { Token } from "../labels.js"
 * @import { Side } from "../sides.js"
 * @import { Alignment, Comparison } from "./compare.js"
 */

/**
 * @typedef {{start: number, end: number}} Span  the sentence's own tokens in a run; the rest is PAD
 * @typedef {{data: ArrayLike<number>, size: number, real: Span, rows?: Span, later?: boolean}} Square  a head's weights:
 *   `size` keys a row, of which `real` are the sentence's; `rows`: the queries that count, where they are another side's;
 *   `later`: whether what comes after the query is a leak (by default), as it is where a model reads one way
 * @typedef {{future: number, pad: number}} Leak  shares of a row's weight, or of a head's
 */

/**
 * Total variation between each row of the sentence before and after: ½ Σ|a − b|, the share of the weight that moved
 * elsewhere. A key of only one run (a PAD) has no weight in the other.
 * @param {Square} before @param {Square} after
 * @param {{queries: Alignment, keys: Alignment}} at  from before to after
 * @returns {number} the mean over the sentence's rows; 0 if none is in both runs
 */
export function movedShare(before, after, at) {
  const keys = Array.from({ length: before.size }, (_, key) => at.keys.at(key) ?? -1);
  const met = new Set(keys);
  const added = Array.from({ length: after.size }, (_, key) => key).filter((key) => !met.has(key));
  const { start, end } = rowsOf(before);
  let [total, rows] = [0, 0];
  for (let query = start; query < end; query++) {
    const there = at.queries.at(query);
    if (there === null) continue;
    const [from, to] = [query * before.size, there * after.size];
    keys.forEach((key, index) => {
      const is = key >= 0 && key < after.size ? after.data[to + key] : 0;
      total += Math.abs(is - before.data[from + index]);
    });
    for (const key of added) total += after.data[to + key];
    rows++;
  }
  return rows === 0 ? 0 : total / 2 / rows;
}

/** The queries that count. @param {Square} square @returns {Span} */
const rowsOf = ({ rows, real }) => rows ?? real;

/**
 * The weight of one row on later tokens and on PADs, whether or not a mask forbids it.
 * @param {Square} square @param {number} query @returns {Leak}
 */
export function leakOfRow({ data, size, real, later = true }, query) {
  const leak = { future: 0, pad: 0 };
  for (let key = 0; key < size; key++) {
    const weight = data[query * size + key];
    if (!inside(real, key)) leak.pad += weight;
    else if (later && key > query) leak.future += weight;
  }
  return leak;
}

/**
 * The same for each token of another run's sentence, from its own row here.
 * @param {Square} square @param {Side} queries  of that run @param {Alignment} at  from it to this one
 * @returns {(Leak & {token: Token})[]}
 */
export function leakRows(square, { tokens, real }, at) {
  return tokens.slice(real.start, real.end).flatMap((token) => {
    const query = at.at(token.index);
    return query === null ? [] : [{ token, ...leakOfRow(square, query) }];
  });
}

/** The same for a head: the mean over the sentence's rows. @param {Square} square @returns {Leak} */
export function leakOfHead(square) {
  const { start, end } = rowsOf(square);
  const sum = { future: 0, pad: 0 };
  for (let query = start; query < end; query++) {
    const { future, pad } = leakOfRow(square, query);
    sum.future += future;
    sum.pad += pad;
  }
  return { future: sum.future / (end - start), pad: sum.pad / (end - start) };
}

/** The largest |difference| between the sentence's own cells. @param {Square} alone @param {Square} padded */
export function largestDifference(alone, padded) {
  const shift = padded.real.start - alone.real.start;
  const [single, rows] = [rowsOf(alone), rowsOf(padded)];
  let largest = 0;
  for (let query = single.start; query < single.end; query++) {
    for (let key = alone.real.start; key < alone.real.end; key++) {
      const there = padded.data[(query - single.start + rows.start) * padded.size + key + shift];
      largest = Math.max(largest, Math.abs(there - alone.data[query * alone.size + key]));
    }
  }
  return largest;
}

/**
 * log softmax of a row of logits. The ids in `banned` are never sampled: −∞.
 * @param {ArrayLike<number>} logits @param {number[]} banned @returns {Float64Array}
 */
export function logSoftmax(logits, banned) {
  const out = Float64Array.from(logits);
  for (const id of banned) out[id] = -Infinity;
  const top = out.reduce((most, value) => Math.max(most, value), -Infinity);
  const sum = out.reduce((total, value) => total + Math.exp(value - top), 0);
  return out.map((value) => value - top - Math.log(sum));
}

/** KL(p‖q) in bits, over the whole vocabulary. @param {Float64Array} logP @param {Float64Array} logQ */
export function klBits(logP, logQ) {
  const nats = logP.reduce((sum, lp, id) => (lp === -Infinity ? sum : sum + Math.exp(lp) * (lp - logQ[id])), 0);
  return Math.max(0, nats / Math.LN2);
}

/** The largest |difference| between two distributions. @param {Float64Array} logP @param {Float64Array} logQ */
export function largestGap(logP, logQ) {
  return logP.reduce((most, lp, id) => Math.max(most, Math.abs(Math.exp(lp) - Math.exp(logQ[id]))), 0);
}

// A head's weights with everything needed to measure them: see measure.js.

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

// The change in every head: the numbers behind the overview.

/**
 * @typedef {{weights: Decoded, logits: Tensor|null,
 *   sides: {source: Side, target: Side|null},
 *   classes: {name: string, logit: number, probability: number}[]|null}} Run  all heads' weights (none where pictures are
 *   pooled), and the logits [position vocab], or [class]; null: too many
 * @typedef {{attention: string, layer: number, head: number, moved: number, future: number, pad: number}} HeadChange
 * @typedef {{attention: string, moved: number[][], future: number[][], pad: number[][]}} Measured  [layer][head], as the server says it
 */

/**
 * What changed in every head: from the weights of both runs, or of a long text as the server measured it. null: it has not
 * yet, or could not.
 * @param {ModelTrace} trace @returns {HeadChange[]|null}
 */
export function changesOf({ pool, compared, explained, model }) {
  if (!(pool > 1)) return compared && headChanges(compared, model);
  return explained.changes?.changes?.flatMap(listed) ?? null;
}

/** @param {Measured} measured @returns {HeadChange[]} */
function listed({ attention, moved, future, pad }) {
  return moved.flatMap((row, layer) =>
    row.map((share, head) => ({
      attention,
      layer,
      head,
      moved: share,
      future: future[layer][head],
      pad: pad[layer][head],
    })),
  );
}

/**
 * Every head of the attentions whose tokens correspond, in the order of the forward pass. The same array for the same
 * runs.
 * @type {(compared: {before: Run, after: Run, sides: Comparison["sides"]}, model: any) => HeadChange[]}  `sides`: from before to after
 */
export const headChanges = memo(
  ({ before, after, sides }, model) =>
    attentionsOf(model).flatMap((attention) => {
      const [queries, keys] = [sides[attention.queries], sides[attention.keys]];
      if (!queries || !keys) return [];
      const taps = attention.roles[overviewOf(attention) ?? ""]?.taps ?? [];
      return taps.flatMap((name, layer) => layerChanges(name, attention, layer, before, after, { queries, keys }));
    }),
  ({ before, after }) => [after.weights, before.weights],
);

/**
 * Whether the numbers are the model's float32; those of long texts are compared as float16.
 * @param {Pick<ModelTrace, "pool"|"compared">} trace
 */
export function isExact({ pool, compared }) {
  return (
    !(pool > 1) &&
    compared !== null &&
    [compared.before, compared.after].every(({ weights }) => weights.meta.dtype === "float32")
  );
}

/**
 * @param {string} name  of the tensor @param {Attention} attention @param {number} layer
 * @param {Run} before @param {Run} after @param {{queries: Alignment, keys: Alignment}} at  from before to after
 */
function layerChanges(name, attention, layer, before, after, at) {
  const heads = after.weights.tensors[name].shape[0];
  return Array.from({ length: heads }, (_, head) => {
    const [was, is] = [headIn(before, name, head, attention), headIn(after, name, head, attention)];
    return { attention: attention.id, layer, head, moved: movedShare(was, is, at), ...leakOfHead(is) };
  });
}

/** @param {Run} run @param {string} name @param {number} head @param {Attention} attention */
function headIn({ weights, sides }, name, head, attention) {
  const {
    data,
    shape: [, nQuery, nKey],
  } = weights.tensors[name];
  const own = /** @type {any} */ (data).subarray(head * nQuery * nKey, (head + 1) * nQuery * nKey);
  return squareOf(own, attention, sideOf(sides, attention.queries), sideOf(sides, attention.keys));
}
