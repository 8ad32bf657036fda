/**
 * Next token: row t predicts t+1. The most likely tokens of the whole vocabulary, before and after the sampling
 * settings.
 */

import { lazily } from "../../data/lazily.js";
import { predictsTokens } from "../../model/description.js";
import { atLeast } from "../../state/levels.js";

export default {
  id: "next_token",
  frame: { place: "foot", className: "panel next", title: "next.title" },
  has: predictsTokens,
  // Before that the likeliest are under the sentence, and the station has more of them.
  shown: (state) => atLeast(state, "everything") || state.lesson !== null || state.quiz,
  needs: ["prediction"],
  ...lazily(() => import("./draw.js")),
};
