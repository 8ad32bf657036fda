/** The position in the walk, and whether it shows one token or all of them. `step` null: the first. */

import { choice, text } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("computation", { step: text(null), way: choice("one", "all") });
