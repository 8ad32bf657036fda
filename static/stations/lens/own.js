/** How the bars of the followed answer are scaled. */

import { choice } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("lens", { axis: choice("linear", "log") });
