/** The panels beside the opened one: views with their own place. To add one, see ../README.md. */

import batch from "./batch/panel.js";
import classes from "./classes/panel.js";
import change from "./compare/panel.js";
import generation from "./generation/panel.js";
import labels from "./heads/labels.js";
import why from "./inspector/inspector.js";
import nextToken from "./next/next_token.js";

/** Each is drawn into `[data-panel="<id>"]`. @type {import("../stations/index.js").View[]} */
export const PANELS = [why, nextToken, change, generation, classes, batch, labels];
