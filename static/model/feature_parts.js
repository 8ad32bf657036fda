/** What the weights of a feature are made from, in a trace: the parts of feature_weights.js, and what they need. No DOM. */

import { has, parameterOf, tapOf, weighsFeatures } from "./description.js";
import { headOf } from "./identities.js";
import { tensors, weights } from "./needs.js";

/** @typedef {import("./description.js").Attention} Attention */

/** The learned numbers that a weight is made from, beside k: RWKV's. */
const LEARNED = ["decay", "bonus"];

/** Whether its weights are e^(position + k), normalised. @param {Attention|null|undefined} attention */
export const weighsKeys = (attention) =>
  weighsFeatures(attention) ||
  attention?.identities.some(({ op, gives }) => op === "feature_softmax" && gives === "weights") === true;

/**
 * What `partsOf` reads beside the detail; with `own`, the model's own weights too.
 * @param {Attention} attention @param {number} layer @param {boolean} own  query × key × feature: large
 */
export const needsOfWeights = (attention, layer, own) => [
  ...(has(attention, "position_bias") ? tensors(tapOf(attention, layer, "position_bias")) : []),
  ...weights(...LEARNED.map((name) => parameterOf(attention, layer, name))),
  ...(own && weighsFeatures(attention) ? tensors(tapOf(attention, layer, "weights")) : []),
];

/**
 * The parts of the open head.
 * @param {import("../data/model_trace.js").ModelTrace} trace @returns {import("./feature_weights.js").Parts}
 */
export function partsOf({ attention, detail, keys, tensor, weight }) {
  const { layer, head, k, mask } = /** @type {import("../data/model_trace.js").Detail} */ (detail);
  const bias = has(attention, "position_bias") && tensor(tapOf(attention, layer, "position_bias"));
  const learned = LEARNED.map((name) => {
    const found = weight(parameterOf(attention, layer, name) ?? "");
    return [name, found?.data.subarray(head * attention.d_head, (head + 1) * attention.d_head)];
  });
  const dims = attention.roles.position_bias?.dims;
  return {
    ...{ k, mask, places: keys.positionIds },
    ...(bias ? { bias: headOf(bias, head, attention.n_head, dims) } : {}),
    ...Object.fromEntries(learned.filter(([, found]) => found)),
  };
}
