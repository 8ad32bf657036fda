/** The view states of the panels: tabs, orders, axes and other choices that a view keeps in the link (../state/view_state.js). */

import { choice, decimal, pair, text, typed, whole } from "../state/fields.js";
import { viewState } from "../state/view_state.js";

/** The LayerNorm to explain, by its kind; null: the first of the open block. */
export const inspectorState = viewState("inspector", { norm: text(null) });

// How far Keep writing goes, how fast, and what beam search keeps.

/** The most beams, as in model/translate.py. */
export const MOST_BEAMS = 16;

/** The most tokens of one Keep writing. */
export const LONGEST_CONTINUATION = 128;

export const generationState = viewState("generation", {
  length: whole(12, 1, LONGEST_CONTINUATION),
  pace: choice("normal", "slow", "fast"),
  beams: whole(4, 1, MOST_BEAMS),
  alpha: decimal(0.6, 0, 10),
});

/** Whose Δ log p is shown: the row and the token that the reader chose in it; null: the actual next token. */
export const compareState = viewState("compare", { token: { ...pair(), until: /** @type {const} */ ("sentence") } });

/** The second sentence of the batch. */
export const batchState = viewState("batch", { text: typed("") });
