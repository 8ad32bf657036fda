/**
 * Predictions by layer: what the stream would predict if the model ended after each of its layers. This is the logit
 * lens (nostalgebraist 2020), not an output of the model, and the station says so.
 */

import { lazily } from "../../data/lazily.js";
import { can, fillsGaps, predictsTokens } from "../../model/description.js";
import { own } from "./own.js";

export default {
  id: "lens",
  gives: "end",
  has: (model) => can(model, "lens") && !fillsGaps(model),
  own,
  why: "logit",
  // The model's own prediction, which the last depth must equal; a classifier's classes come with the trace.
  needs: (state, model) => (predictsTokens(model) ? ["explain:lens", "prediction"] : ["explain:lens"]),
  ...lazily(() => import("./draw.js")),
};
