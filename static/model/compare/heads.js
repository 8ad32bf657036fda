/** The change in every head: the numbers behind the overview. */

import { attentionsOf, overviewOf } from "../description.js";
import { sideOf } from "../sides.js";
import { leakOfHead, movedShare } from "./measure.js";
import { squareOf } from "./square.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Decoded, Tensor } from "../../data/wire.js"
 * @import { Attention } from "../description.js"
 * @import { Side } from "../sides.js"
 * @import { Alignment, Comparison } from "./compare.js"
 */

/**
 * @typedef {{weights: Decoded, logits: Tensor|null,
 *   sides: {source: Side, target: Side|null},
 *   classes: {name: string, logit: number, probability: number}[]|null}} Run  all heads' weights (none where pictures are
 *   pooled), and the logits [position vocab], or [class]; null: too many
 * @typedef {{attention: string, layer: number, head: number, moved: number, future: number, pad: number}} HeadChange
 * @typedef {{attention: string, moved: number[][], future: number[][], pad: number[][]}} Measured  [layer][head], as the server says it
 */

/** @type {WeakMap<object, {before: object, made: HeadChange[]}>} */
const known = new WeakMap();

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
 * @param {{before: Run, after: Run, sides: Comparison["sides"]}} compared  `sides`: from before to after
 * @param {any} model @returns {HeadChange[]}
 */
export function headChanges({ before, after, sides }, model) {
  const last = known.get(after.weights);
  if (last?.before === before.weights) return last.made;
  const made = attentionsOf(model).flatMap((attention) => {
    const [queries, keys] = [sides[attention.queries], sides[attention.keys]];
    if (!queries || !keys) return [];
    const taps = attention.roles[overviewOf(attention) ?? ""]?.taps ?? [];
    return taps.flatMap((name, layer) => layerChanges(name, attention, layer, before, after, { queries, keys }));
  });
  known.set(after.weights, { before: before.weights, made });
  return made;
}

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
