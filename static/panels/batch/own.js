/** The second sentence of the batch. */

import { typed } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("batch", { text: typed("") });
