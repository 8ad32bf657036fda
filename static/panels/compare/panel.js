/**
 * What changed between two runs, in numbers: heads, leaks, the next token; and a padded run compared with the single
 * run.
 */

import { lazily } from "../../data/lazily.js";
import { comparable, hasLogits, hasWeights } from "../../model/compare/runs.js";
import { predictsTokens } from "../../model/description.js";
import { own } from "./own.js";

export default {
  id: "compare",
  frame: { place: "below", className: "panel compare", title: "compare.title" },
  roles: ["overview"],
  own,
  shown: ({ compare }) => compare,
  needs: (state, model) => {
    const { pairs } = comparable(state, model);
    if (!state.compare || pairs.length === 0) return [];
    const open = hasWeights(pairs, state, model) ? ["detail", "compared_detail"] : [];
    const next = hasLogits(pairs) && predictsTokens(model) ? ["prediction"] : [];
    return [...open, ...next, "compared"];
  },
  also: (state, model) =>
    comparable(state, model).pairs.some(({ what }) => what === "weights") ? ["explain:changes"] : [],
  ...lazily(() => import("./draw.js")),
};
