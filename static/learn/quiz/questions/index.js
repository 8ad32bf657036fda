/** The questions of the quiz, by name: loaded with the first guess. */

import { askAttention } from "./attention.js";
import { askClasses } from "./classes.js";
import { askMask } from "./mask.js";
import { askNext } from "./next.js";
import { askTemperature } from "./temperature.js";
import { askUnits } from "./units.js";

/** @import { Ask } from "./pieces.js" */

/** @type {Object<string, Ask>} */
export const QUESTIONS = {
  next: askNext,
  classes: askClasses,
  attention: askAttention,
  mask: askMask,
  temperature: askTemperature,
  units: askUnits,
};
