/** How far Write on goes, how fast, and what beam search keeps. */

import { choice, number, whole } from "../../state/fields.js";
import { ownState } from "../../state/own.js";

/** The most beams, as in model/translate.py. */
export const MOST_BEAMS = 16;

/** The most tokens of one Write on. */
export const LONGEST = 128;

export const own = ownState("generation", {
  length: whole(12, 1, LONGEST),
  pace: choice("normal", "slow", "fast"),
  beams: whole(4, 1, MOST_BEAMS),
  alpha: number(0.6, 0, 10),
});
