/**
 * Pictures of a lesson that the page has nowhere else, by name. Each is drawn into `root` with the live model's own
 * numbers; `arrows` alone is a toy, and says so. What would answer the step's question has the class `tells`: it is hidden
 * until the reader has guessed.
 *
 * @typedef {(root: HTMLElement, live: Live, options: any) => void|Promise<void>} Figure
 */

import { draw as arrows } from "./arrows.js";
import { draw as depth } from "./depth.js";
import { draw as gaze } from "./gaze.js";
import { draw as passed } from "./passed.js";
import { draw as softmax } from "./softmax.js";
import { draw as spread } from "./spread.js";
import { draw as variance } from "./variance.js";
import { draw as vectors } from "./vectors.js";

/** @import { Live } from "../live.js" */

/** @type {Object<string, Figure>} */
export const FIGURES = { arrows, depth, gaze, passed, softmax, spread, variance, vectors };
