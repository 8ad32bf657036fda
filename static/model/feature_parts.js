/** What the weights of a feature are made from, in a trace: the parts of feature_weights.js. No DOM. */

import { has, parameterOf, tapOf } from "./description.js";
import { headOf } from "./identities.js";
import { LEARNED } from "./mechanism_needs.js";

/**
 * @import { Detail, ModelTrace } from "../data/model_trace.js"
 * @import { Parts } from "./feature_weights.js"
 */

/**
 * The parts of the open head.
 * @param {ModelTrace} trace @returns {Parts}
 */
export function partsOf({ attention, detail, keys, tensor, weight }) {
  const { layer, head, k, mask } = /** @type {Detail} */ (detail);
  const bias = has(attention, "position_bias") && tensor(tapOf(attention, layer, "position_bias"));
  const learned = LEARNED.map((name) => {
    const found = weight(parameterOf(attention, layer, name) ?? "");
    return [name, found?.data.subarray(head * attention.d_head, (head + 1) * attention.d_head)];
  });
  const dims = attention.roles.position_bias?.dims;
  return {
    k,
    mask,
    places: keys.positionIds,
    ...(bias ? { bias: headOf(bias, head, attention.n_head, dims) } : {}),
    ...Object.fromEntries(learned.filter(([, found]) => found)),
  };
}
