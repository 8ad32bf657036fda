/** Whether the river is shown: folded away, it asks for nothing and measures nothing. */

import { onOff } from "../state/fields.js";
import { ownState } from "../state/own.js";

export const own = ownState("river", { shown: onOff(true) });
