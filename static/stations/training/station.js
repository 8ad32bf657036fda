/** Training: the loss of every token of this sentence, and how this model was trained. */

import { lazily } from "../../data/lazily.js";
import { drops, own, tabOf, tabsOf } from "../../data/training.js";

export default {
  id: "training",
  level: /** @type {const} */ ("everything"),
  own,
  has: (model) => tabsOf(model).length > 0,
  gives: (state, model) => (tabOf(state, model) === "forcing" ? /** @type {const} */ ("end") : undefined), // at the last row
  called: (state, model) => `training-${tabOf(state, model)}`,
  needs: (state, model) => (tabOf(state, model) === "forcing" ? ["explain:forcing"] : []),
  also(state, model) {
    if (tabOf(state, model) === "forcing") return ["explain:prefix"];
    if (tabOf(state, model) === "alike") return [];
    const losses = tabsOf(model).includes("forcing") ? ["explain:forcing"] : []; // what smoothing makes of them
    return [...losses, ...(drops(model) ? ["explain:dropout"] : [])];
  },
  ...lazily(() => import("./draw.js")),
};
