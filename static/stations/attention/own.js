/** How the weights are drawn. `heads`, of lines: the open one's (null), their layer's mean, or these of its layer. */

import { choice, indices } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("weights", {
  as: choice("matrix", "lines"),
  heads: indices("mean"),
  unit: choice("tokens", "characters", "words"),
});
