/** The position in the walk (`step` null: the first), whether it shows one token or all of them, and the seconds that Play gives to a step. */

import { choice, text } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

/** In the order in which they are offered. */
export const PACES = /** @type {const} */ (["0.5", "1", "2", "4", "8"]);

export const own = ownState("computation", {
  step: text(null),
  way: choice("one", "all"),
  pace: choice(/** @type {typeof PACES[number]} */ ("2"), ...PACES),
});
