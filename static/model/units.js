/** The chosen FFN unit: the same rule for the walk, the FFN station and the inspector. */

import { largest } from "./matrix.js";

/**
 * The chosen unit; by default the one that fires most on the chosen token.
 * @param {{ffnUnit: number|null}} state @param {ArrayLike<number>} values  of the token, before or after ReLU
 */
export function chosenUnit({ ffnUnit }, values) {
  return Math.min(ffnUnit ?? largest(Array.from(values, (value) => Math.max(0, value))), values.length - 1);
}
