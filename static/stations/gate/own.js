/** Which sum is shown before the gate, and the token whose query is tried in the place of the chosen one; null: none. */

import { choice, index } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("gate", {
  sum: choice("mixed", "numerator", "denominator"),
  asks: { ...index(null), until: "sentence" },
});
