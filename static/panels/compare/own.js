/** Whose Δ log p is shown: the row and the token that the reader chose in it; null: the actual next token. */

import { pair } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("compare", { token: { ...pair(), until: /** @type {const} */ ("sentence") } });
