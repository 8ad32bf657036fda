/**
 * Pictures of a lesson that the page has nowhere else, by name. Each is drawn into `root` with the live model's own
 * numbers; `arrows` alone is a toy, and says so.
 *
 * @typedef {(root: HTMLElement, live: import("../live.js").Live, options: any) => void|Promise<void>} Figure
 */

import { draw as arrows } from "./arrows.js";
import { draw as depth } from "./depth.js";
import { draw as softmax } from "./softmax.js";
import { draw as spread } from "./spread.js";
import { draw as variance } from "./variance.js";
import { draw as vectors } from "./vectors.js";

/** @type {Object<string, Figure>} */
export const FIGURES = { arrows, depth, softmax, spread, variance, vectors };
