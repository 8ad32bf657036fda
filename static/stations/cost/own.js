/** What is drawn, and for how many tokens the table counts. */

import { choice } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const SHOWN = /** @type {const} */ (["time", "space", "measured"]);
export const LENGTHS = /** @type {const} */ (["sentence", "window", "long"]);

export const own = ownState("cost", { shown: choice(...SHOWN), at: choice(...LENGTHS) });
