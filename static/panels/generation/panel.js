/** Generation: the sentence continues token by token, and every step can be inspected, undone or changed. */

import { lazily } from "../../data/lazily.js";
import { predictsTokens, writesTarget } from "../../model/description.js";
import { own } from "./own.js";

export default {
  id: "generation",
  frame: { place: "foot", className: "panel generation", title: "generation.title" },
  has: predictsTokens,
  own,
  // The text says where a generated token looks and with what weight, which comes from the open head's float32.
  needs: (state, model) => (state.ids || writesTarget(model) ? ["detail"] : []),
  ...lazily(() => import("./draw.js")),
};
