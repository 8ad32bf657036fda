/** How a model is put together: the names of the taps and parameters of its blocks, whatever its family. No DOM. */

import { attentionsOf } from "./attentions.js";

/**
 * @typedef {Object} Sublayer
 * @property {"attn"|"cross_attn"|"ffn"} kind
 * @property {string} path  of its module: `${path}.attn_out`, `${path}.w_o.weight`
 * @property {string} norm  of its LayerNorm: `${norm}.input`, `${norm}.out`, `${norm}.weight`, `${norm}.bias`
 * @property {string} before  the tap of the stream that it reads
 * @property {string} after  the tap of the stream that it leaves
 * @property {string} out  the tap of what it adds, before any LayerNorm
 */

/** @param {{path: string}} attention  of the model's @returns {string} "", "encoder." or "decoder.": the stack that it is in */
export const prefixOf = ({ path }) => path.slice(0, path.indexOf("layers."));

/** The stacks of a model, in the order of the forward pass. @param {any} model */
export const prefixesOf = (model) => [...new Set(attentionsOf(model).map(prefixOf))];

/**
 * The sublayers of one block, in their order.
 * @param {any} model @param {string} prefix @param {number} layer
 * @returns {Sublayer[]}
 */
export function sublayersOf(model, prefix, layer) {
  const block = `${prefix}layers.${layer}`;
  const crosses = attentionsOf(model).some((one) => prefixOf(one) === prefix && one.path.endsWith(".cross_attn"));
  const streams = crosses
    ? ["resid_pre", "resid_mid", "resid_cross", "resid_post"]
    : ["resid_pre", "resid_mid", "resid_post"];
  const kinds = /** @type {const} */ (crosses ? ["attn", "cross_attn", "ffn"] : ["attn", "ffn"]);
  return kinds.map((kind, i) => ({
    kind,
    path: `${block}.${kind}`,
    norm: `${block}.${kind}_residual.norm`,
    before: `${block}.${streams[i]}`,
    after: `${block}.${streams[i + 1]}`,
    out: `${block}.${kind}.${kind === "ffn" ? "out" : "attn_out"}`,
  }));
}

/** The tap that a sublayer reads: its LayerNorm's output, or the stream as it is. @param {any} model @param {Sublayer} sublayer */
export const inputOf = (model, { norm, before }) => (model.norm_order === "pre" ? `${norm}.out` : before);

/**
 * What stands before the first and behind the last block of a stack.
 * @param {any} model @param {string} prefix
 */
export function endsOf(model, prefix) {
  return {
    embedding: `${prefix}embedding`,
    positional: `${prefix}positional`,
    tokenTable: `${prefix}token_embedding.weight`,
    positionTable: model.position === "learned" ? `${prefix}positions.table.weight` : null, // a sinusoid is computed
    finalNorm: model.norm_order !== "post" ? `${prefix}final_norm` : null, // else the last block ends with one
    unembedding: model.family === "encoder-only" ? "classifier.weight" : "unembedding.weight",
    unembeddingBias: model.family === "encoder-only" ? "classifier.bias" : null,
  };
}

/** The tap of what a stack hands on: what cross-attention reads, or what is turned into logits. @param {any} model @param {string} prefix */
export function outputOf(model, prefix) {
  const { finalNorm } = endsOf(model, prefix);
  return finalNorm ? `${finalNorm}.out` : `${prefix}layers.${model.n_layer - 1}.resid_post`;
}
