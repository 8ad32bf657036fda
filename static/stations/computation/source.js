/** Which functions of the model's own code compute a step: names of `/api/source`. */

import { can } from "../../model/description.js";

/** @import { Step } from "./steps.js" */

/** @type {Object<string, string[]>} */
const BY_KIND = {
  embed: ["embed"],
  q: ["project"],
  k: ["project"],
  v: ["project"],
  heads: ["split_heads"],
  scores: ["attend"],
  scale: ["attend"],
  mask: ["causal", "padding"],
  softmax: ["masked_softmax"],
  av: ["attend"],
  concat: ["attention"],
  wo: ["attention"],
  w1: ["feed_forward"],
  relu: ["feed_forward"],
  w2: ["feed_forward"],
  answer: ["distribution"],
};
/** A residual connection, by the place of its LayerNorm. @type {Object<string, string>} */
const RESIDUAL = { pre: "pre_norm", post: "post_norm", "res-post": "res_post_norm" };

/** None for another mechanism than softmax, nor for a model that is not made of our modules. @param {Step} step @param {any} model @returns {string[]} */
export function sourcesOf({ kind, attention, sublayer }, model) {
  if (!can(model, "parameters")) return [];
  if (attention && attention.kind !== "softmax") return [];
  if (kind === "residual") return sublayer?.norm ? [RESIDUAL[sublayer.norm.place]] : [];
  return BY_KIND[kind] ?? [];
}
