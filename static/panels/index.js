/** The panels beside the opened one: views that name their place. To add one: a folder and a line here. See ../README.md. */

import batch from "./batch/panel.js";
import beside from "./beside/panel.js";
import candidates from "./candidates/panel.js";
import classes from "./classes/panel.js";
import compare from "./compare/panel.js";
import effective from "./effective/panel.js";
import gap from "./gap/panel.js";
import generation from "./generation/panel.js";
import labels from "./heads/labels.js";
import inspector from "./inspector/inspector.js";
import nextToken from "./next/panel.js";
import watched from "./watched/panel.js";

/** @import { Panel } from "../stations/index.js" */

/** In this order within each place of the page. @type {Panel[]} */
export const PANELS = [
  ...[candidates, beside, watched, labels, classes, gap, inspector, compare, batch, effective, generation, nextToken],
];
