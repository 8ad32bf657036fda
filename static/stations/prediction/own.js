/** What is shown: the answer, or how it comes about layer by layer; and how the bars of each are scaled. */

import { choice } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("prediction", {
  tab: choice("token", "layers"),
  axis: choice("linear", "log"),
  layers_axis: choice("linear", "log"),
});
