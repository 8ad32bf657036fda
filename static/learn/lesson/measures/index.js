/**
 * What a question can ask of the live model, by name. Each measure takes the step's model and run, and the `with` of the
 * question; `value` decides which option is right, and all that it returns can stand in the answer's words. `patch` is the change of the
 * page that shows what was measured.
 *
 * @typedef {(live: Live, options: any) => Promise<{value: number|string, patch?: Patch} & Object<string, any>>} Measure
 */

import { crossed, differing, handed, linked, looks, products, ratio, unscaled } from "./attention.js";
import { forbidden, later, padded, unmasked } from "./masks.js";
import { moved, sentences, swallowed, twins } from "./stream.js";
import { cut, instead, next, pieces, wrote } from "./text.js";

/**
 * @import { Patch } from "../../../state/store.js"
 * @import { Live } from "../live.js"
 */

/** @type {Object<string, Measure>} */
export const MEASURES = {
  crossed,
  cut,
  differing,
  forbidden,
  handed,
  instead,
  later,
  linked,
  looks,
  moved,
  next,
  padded,
  pieces,
  products,
  ratio,
  sentences,
  swallowed,
  twins,
  unmasked,
  unscaled,
  wrote,
};
