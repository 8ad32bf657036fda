/** How the bars are scaled. */

import { choice } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("prediction", { axis: choice("linear", "log") });
