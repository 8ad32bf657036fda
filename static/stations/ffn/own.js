/** Which numbers of the units are shown, and their order. */

import { choice } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("ffn", { shown: choice("post", "pre"), sort: choice("id", "activation") });
