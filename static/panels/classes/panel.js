/** A classifier's answer: its classes, what they are computed from, and where [CLS] looks in every head. */

import { lazily } from "../../data/lazily.js";

export default {
  id: "classes",
  frame: { place: "right", className: "panel classes", title: "classes.title" },
  has: (model) => model.description.predicts === "classes",
  needs: ["detail"],
  ...lazily(() => import("./draw.js")),
};
