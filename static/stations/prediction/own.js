/**
 * What is shown: the answer, or how it comes about layer by layer; how the bars of each are scaled; and the chosen depth,
 * null: the last.
 */

import { choice, index } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("prediction", {
  tab: choice("token", "layers"),
  axis: choice("linear", "log"),
  layers_axis: choice("linear", "log"),
  depth: index(null),
});
