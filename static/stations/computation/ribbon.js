/** The walk and the ribbon: which station each step belongs to, and where the walk begins. No DOM. */

import { attentionOf } from "../../model/description.js";
import { stepOf } from "../attention/steps.js";
import { opening, stepsOf } from "./steps.js";

/** @import { Patch, State } from "../../state/store.js" */

/** @type {Object<string, string>} */
const BY_KIND = {
  tokens: "tokens",
  embed: "embedding",
  start: "embedding",
  q: "qkv",
  k: "qkv",
  v: "qkv",
  heads: "qkv",
  av: "av",
  concat: "av",
  wo: "av",
  logits: "prediction",
  answer: "prediction",
};

/** Streams, sums and LayerNorms are the residual's; scores, mask, softmax and roles of a mechanism's own attention's; the others of an FFN, the FFN's. */
const BY_GROUP = { attn: "attention", cross_attn: "attention", ffn: "ffn" };
const OF_STREAM = ["before", "norm", "residual", "rest", "final"];

/** @param {{kind: string, group: string}} step @returns {string} the id of a view */
export const stationOf = ({ kind, group }) =>
  BY_KIND[kind] ?? (OF_STREAM.includes(kind) ? "residual" : (BY_GROUP[group] ?? "residual"));

/** The steps of the walk that the steps of the attention station are. */
const OF_ATTENTION = { qk: "scores", scaled: "scale", masked: "mask", weights: "softmax" };

/**
 * The change that opens the walk where the reader is: at the first step of the open station; of attention, at its open step.
 * @param {State} state @param {any} model @returns {Patch}
 */
export function walkFrom(state, model) {
  const attention = attentionOf(model, state.attention);
  const asked = OF_ATTENTION[/** @type {keyof typeof OF_ATTENTION} */ (stepOf(attention, state))];
  const inStation = stepsOf(model, state).filter(
    (step) => stationOf(step) === state.view && (step.attention === null || step.attention === attention),
  );
  const first = inStation.find(({ kind }) => state.view === "attention" && kind === asked) ?? inStation[0];
  return { view: "computation", ...(first && opening(first)) };
}
