/** Prediction: row t's logits as probabilities of the token t+1, before and after the sampling settings. */

import { lazily } from "../../data/lazily.js";
import { predictsTokens } from "../../model/description.js";
import { own } from "./own.js";

export default {
  id: "prediction",
  gives: "end",
  own,
  why: "logit",
  has: predictsTokens,
  needs: ["prediction"],
  ...lazily(() => import("./draw.js")),
};
