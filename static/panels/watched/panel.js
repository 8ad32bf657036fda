/** Training, watched: a slider over what the model was on the way. The sentence stays. */

import { lazily } from "../../data/lazily.js";
import { can, predictsTokens } from "../../model/description.js";
import { snapshotsOf } from "../../model/snapshots.js";

export default {
  id: "watched",
  frame: { place: "top", className: "panel watched", title: "watched.title" },
  level: /** @type {const} */ ("everything"),
  shown: ({ file }) => file === null,
  has: (model) => snapshotsOf(model).length > 0,
  needs: (state, model) => (predictsTokens(model) ? ["prediction"] : []),
  // The slider does not wait for the figures of this sentence.
  also: (state, model) => ["explain:residual", ...(can(model, "units") ? ["explain:units"] : [])],
  ...lazily(() => import("./draw.js")),
};
