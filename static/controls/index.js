/** The panels beside the opened one: views with a place of their own. To add one, see ../README.md. */

import change from "./change.js";
import batch from "./batch.js";
import classes from "./classes.js";
import generation from "./generation.js";
import nextToken from "./next_token.js";

/** Each is drawn into `[data-panel="<id>"]`. @type {import("../views/index.js").View[]} */
export const PANELS = [nextToken, change, generation, classes, batch];
