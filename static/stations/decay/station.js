/** RWKV's memory: how fast each channel forgets, and the two sums of the state, which grow token by token. */

import { lazily } from "../../data/lazily.js";
import { attentionOf, has } from "../../model/description.js";
import { needsOfWeights } from "../../model/mechanism_needs.js";

export default {
  id: "decay",
  ofHead: true,
  gives: "attention",
  has(model, state) {
    const attention = attentionOf(model, state?.attention);
    return "decay" in attention.parameters && has(attention, "mixed");
  },
  inspector: "feature",
  needs: (state, model) => [
    ...["detail", "role:mixed", "role:gate", "role:z"],
    ...needsOfWeights(attentionOf(model, state.attention), state.layer, false),
  ],
  ...lazily(() => import("./draw.js")),
};
