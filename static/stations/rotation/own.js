/** The pair of dimensions whose numbers are written out. */

import { index } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

export const own = ownState("rotation", { pair: index(0) });
