/** Beside Step: the most likely next tokens, to be taken by hand. */

import { lazily } from "../../data/lazily.js";
import { predictsTokens } from "../../model/description.js";
import { atLeast } from "../../state/levels.js";

export default {
  id: "candidates",
  frame: { place: "sentence", className: "candidates", title: "candidates.title" },
  has: predictsTokens,
  // Everything has a panel of them; a lesson and the quiz ask for them; a file's text cannot go on.
  shown: (state) => !atLeast(state, "everything") && state.lesson === null && !state.quiz && state.file === null,
  needs: ["prediction"],
  ...lazily(() => import("./draw.js")),
};
