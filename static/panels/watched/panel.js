/** Training, watched: a slider over the model's snapshots. The sentence stays. */

import { lazily } from "../../data/lazily.js";
import { besideModel, isBeside } from "../../model/compare/beside.js";
import { can, predictsTokens } from "../../model/description.js";
import { sameModel, snapshotsOf } from "../../model/snapshots.js";

export default {
  id: "watched",
  frame: { place: "top", className: "panel watched", title: "watched.title" },
  level: /** @type {const} */ ("everything"),
  // Beside another model, the two are what there is to see; beside one of its own snapshots, the slider belongs to it.
  shown: (state) => state.file === null && (!isBeside(state) || sameModel(state.model, besideModel(state))),
  has: (model) => snapshotsOf(model).length > 0,
  needs: (state, model) => (predictsTokens(model) ? ["prediction"] : []),
  // The slider does not wait for the figures of this sentence.
  also: (state, model) => ["explain:residual", ...(can(model, "units") ? ["explain:units"] : [])],
  ...lazily(() => import("./draw.js")),
};
