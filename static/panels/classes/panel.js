/** A classifier's answer: its classes, what they are computed from, and where [CLS] looks in every head. */

import { lazily } from "../../data/lazily.js";
import { can } from "../../model/description.js";

export default {
  id: "classes",
  frame: { place: "right", className: "panel classes", title: "classes.title" },
  has: (model) => model.description.predicts === "classes",
  needs: ["detail", "looks"],
  also: (state, model) => (model.picture && can(model, "route") ? ["explain:route"] : []),
  ...lazily(() => import("./draw.js")),
};
