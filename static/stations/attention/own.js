/**
 * Which step on the way to the weights is shown, and how they are drawn. `heads`, for lines: the open one (null), the mean of its layer,
 * or these of its layer. `unit`: null while nobody chose, which is characters where most tokens are bytes.
 */

import { choice, indices } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("attention", {
  step: choice("weights", "content", "distance", "qk", "scaled", "bias", "masked", "feature"),
  as: choice("matrix", "lines"),
  heads: indices("mean"),
  unit: { ...choice("tokens", "characters", "words"), initial: null },
});
