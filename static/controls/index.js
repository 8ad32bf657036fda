/** The panels beside the opened one: views with a place of their own. To add one, see ../README.md. */

import change from "./change.js";
import batch from "./batch.js";
import classes from "./classes.js";
import generation from "./generation.js";
import labels from "./labels.js";
import nextToken from "./next_token.js";
import quizBar from "./quiz_bar.js";
import why from "./why.js";

/** Each is drawn into `[data-panel="<id>"]`. @type {import("../views/index.js").View[]} */
export const PANELS = [why, nextToken, change, generation, classes, batch, labels, quizBar];
