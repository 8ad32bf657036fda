/** The FFN of a layer: its units on each token before and after ReLU, and the strongest tokens of a unit. */

import { lazily } from "../../data/lazily.js";
import { can } from "../../model/description.js";
import { tensors } from "../../model/needs.js";
import { ffnOf } from "./data.js";
import { own } from "./own.js";

export default {
  id: "ffn",
  gives: "units",
  has: (model) => can(model, "units"),
  own,
  why: "unit",
  needs(state, model) {
    const { pre, post } = ffnOf(state, model);
    return [...tensors(pre, post), "explain:units"];
  },
  ...lazily(() => import("./draw.js")),
};
