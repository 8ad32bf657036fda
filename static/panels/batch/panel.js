/** Two sentences of different length in one batch: what the padding mask is for, with the model's own numbers. */

import { lazily } from "../../data/lazily.js";
import { can } from "../../model/description.js";
import { own } from "./own.js";

export default {
  id: "batch",
  frame: { place: "below", className: "panel batch", title: "batch.title" },
  own,
  shown: ({ file }) => file === null,
  has: (model) => model.description.predicts === "classes" && can(model, "batch"),
  needs: [],
  ...lazily(() => import("./draw.js")),
};
