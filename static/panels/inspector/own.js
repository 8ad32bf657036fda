/** The LayerNorm to explain, by its kind; null: the first of the open block. */

import { text } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("inspector", { norm: text(null) });
