/** The FFN of a layer: its units on each token before and after the activation, and the strongest tokens of a unit. */

import { lazily } from "../../data/lazily.js";
import { can, stacksOf } from "../../model/description.js";
import { tensors } from "../../model/needs.js";
import { ffnOf } from "./data.js";
import { own } from "./own.js";

const isFfn = ({ kind }) => kind === "ffn";

export default {
  id: "ffn",
  gives: (_, model) => (can(model, "units") ? "units" : undefined),
  has: (model) => stacksOf(model).some(({ layers }) => layers.some((layer) => layer.sublayers.some(isFfn))),
  own,
  inspector: "unit",
  needs(state, model) {
    const { pre, post } = ffnOf(state, model);
    return [...tensors(pre, post), ...(can(model, "units") ? ["explain:units"] : [])];
  },
  ...lazily(() => import("./draw.js")),
};
