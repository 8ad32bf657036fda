/** Whether V is shown as it is, or each row times the weight of the chosen query. */

import { choice } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const VALUES = /** @type {const} */ (["plain", "weighted"]);

export const own = ownState("av", { values: choice(...VALUES) });
