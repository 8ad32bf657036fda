/** What was learned about positions: vectors or a bias for each distance, or a bias for each pair of positions. */

import { lazily } from "../../data/lazily.js";
import { attentionOf, has, parameterOf } from "../../model/description.js";
import { weights } from "../../model/needs.js";

const LEARNED = ["table_k", "table_v", "kernel", "gamma", "beta", "bias_query", "bias_key"];

export default {
  id: "distance",
  has: (model, state) => LEARNED.some((name) => name in attentionOf(model, state?.attention).parameters),
  needs(state, model) {
    const attention = attentionOf(model, state.attention);
    const shown = has(attention, "position_bias") ? ["role:position_bias"] : [];
    return ["detail", ...shown, ...weights(...LEARNED.map((name) => parameterOf(attention, state.layer, name)))];
  },
  ...lazily(() => import("./draw.js")),
};
