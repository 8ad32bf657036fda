/** A·V: what each token receives from the open head, as the weighted sum of the values it looks at. */

import { lazily } from "../../data/lazily.js";
import { attentionOf } from "../../model/description.js";
import { knowsValues, needsOfScores } from "../../model/mechanism_needs.js";
import { own } from "./own.js";

export default {
  id: "av",
  ofHead: true,
  gives: "attention",
  roles: ["pattern", "mask", "v", "z"],
  own,
  inspector: "z",
  has: (model, state) => knowsValues(attentionOf(model, state?.attention)),
  needs: (state, model) => ["detail", "role:z", ...needsOfScores(attentionOf(model, state.attention), state.layer)],
  ...lazily(() => import("./draw.js")),
};
