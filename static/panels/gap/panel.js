/** A masked language model's answer: the most likely tokens at the chosen place, and a button that hides the token there. */

import { lazily } from "../../data/lazily.js";
import { fillsGaps } from "../../model/description.js";

export default {
  id: "gap",
  frame: { place: "right", className: "panel classes", title: "gap.title" },
  has: fillsGaps,
  needs: ["prediction"],
  ...lazily(() => import("./draw.js")),
};
