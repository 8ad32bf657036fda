/** The view states: tabs, orders, axes and other choices that a view keeps in the link (../state/view_state.js). */

import { choice, decimal, index, indices, onOff, pair, text, typed, whole } from "../state/fields.js";
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
  by: choice("temperature", "topK", "topP", "minP", "penalty"), // the setting of which two values are written side by side
  cool: decimal(0.2, 0, 1000),
  warm: decimal(1.2, 0, 1000),
});

/** Whether a step keeps keys and values; what is said of it, or of all steps; and which costs are drawn over the steps. */
export const CACHE_COSTS = /** @type {const} */ (["multiply_adds", "bytes", "milliseconds"]);
export const CACHE_OF = /** @type {const} */ (["step", "steps"]);
export const cacheState = viewState("cache", {
  on: onOff(true),
  of: choice(...CACHE_OF),
  shows: choice(...CACHE_COSTS),
});

export const FED_BY = /** @type {const} */ (["river", "head", "heads"]);
/** Which words fed what was written: how that is measured, up to which written token (null: all), and whether it is summed. */
export const fedState = viewState("fed", { by: choice(...FED_BY), sums: onOff(true), frame: index(null) });

/** Which probability the chips of the dock show: the model's own, or what temperature, top-k and top-p make of it. */
export const dockState = viewState("dock", { shows: choice("model", "sampled"), surprise: onOff(false) });

/** Whose Δ log p is shown: the row and the token that the reader chose in it; null: the actual next token. */
export const compareState = viewState("compare", { token: { ...pair(), until: /** @type {const} */ ("sentence") } });

/** The second sentence of the batch. */
export const batchState = viewState("batch", { text: typed("") });

/** The pair of dimensions whose numbers are written out. */
export const rotationState = viewState("rotation", { pair: index(0) });

/** The open tab; the part of the stream that is shown, its measure, and the token of the gradients. */
export const RESIDUAL_TABS = /** @type {const} */ (["stream", "norms", "gradients", "parameters"]);
export const STREAM_PARTS = /** @type {const} */ (["stream", "attn", "cross_attn", "ffn"]);
export const STREAM_MEASURES = /** @type {const} */ (["norm", "relative", "cosine"]);
export const GRADIENTS_OVER = /** @type {const} */ (["all", "token"]);

export const residualState = viewState("residual", {
  tab: choice(...RESIDUAL_TABS),
  what: choice(...STREAM_PARTS),
  measure: choice(...STREAM_MEASURES),
  over: choice(...GRADIENTS_OVER),
});

/**
 * What is shown: the answer, or how it comes about layer by layer; whether all tokens are; how the bars are scaled, null: as they
 * need it; and the chosen depth, null: the last.
 */
export const predictionState = viewState("prediction", {
  tab: choice("token", "layers"),
  all: onOff(false),
  axis: { ...choice("linear", "log"), initial: null },
  layers_axis: choice("linear", "log"),
  depth: index(null),
});

/** Whether all tokens are shown below the cards: after a press, or in a link that says how their bars are scaled. @param {{viewState: Object<string, any>}} state */
export function showsAllTokens(state) {
  const { all, axis } = predictionState.of(state);
  return all || axis !== null;
}

/**
 * Which sum is shown before the gate, and the token whose query is tried in the place of the chosen one; null: none.
 */
export const gateState = viewState("gate", {
  sum: choice("mixed", "numerator", "denominator"),
  asks: { ...index(null), until: "sentence" },
});

/** The step whose numbers are shown, and the order of the units. */
export const ffnState = viewState("ffn", {
  shown: choice("post", "pre", "x", "normed", "out", "sum"),
  sort: choice("id", "activation"),
});

/** What is drawn, and for how many tokens the table counts. */
export const COST_SHOWN = /** @type {const} */ (["time", "space", "measured"]);
export const COST_LENGTHS = /** @type {const} */ (["sentence", "window", "long"]);

export const costState = viewState("cost", { shown: choice(...COST_SHOWN), at: choice(...COST_LENGTHS) });

// The position in the walk (`step` null: the first), whether it shows one token or all of them, the seconds that Play gives to a step, and whether it plays.

/** In the order in which they are offered. */
export const WALK_PACES = /** @type {const} */ (["0.5", "1", "2", "4", "8"]);

export const walkState = viewState("computation", {
  step: text(null),
  way: choice("one", "all"),
  pace: choice(/** @type {typeof WALK_PACES[number]} */ ("2"), ...WALK_PACES),
  plays: onOff(false),
});

/** Whether V is shown as it is, or each row times the weight of the chosen query. */
export const AV_VALUES = /** @type {const} */ (["plain", "weighted"]);

export const avState = viewState("av", { values: choice(...AV_VALUES) });

/** What the pencil edits: the open head, its layer, or all layers. */
export const SCOPES = /** @type {const} */ (["head", "layer", "all"]);

/** Several heads as one matrix (model/averages.js), in the order of the choice; "head": the open one, alone. */
export const AVERAGES = /** @type {const} */ ([
  "head",
  "mean_heads",
  "max_heads",
  "mean_layers",
  "max_layers",
  "mean_all",
  "max_all",
  "rollout",
]);

/**
 * Which step on the way to the weights is shown, and how they are drawn. `heads`, for lines: the open one (null), the mean of its layer,
 * or these of its layer. `unit`: null while nobody chose, which is characters where most tokens are bytes. `pencil`: on once
 * the reader took it; at the step of the mask it lies ready.
 */
export const attentionState = viewState("attention", {
  step: choice("weights", "content", "distance", "added", "qk", "uncapped", "scaled", "bias", "masked", "feature"),
  as: choice("matrix", "lines"),
  heads: indices("mean"),
  unit: { ...choice("tokens", "characters", "words"), initial: null },
  average: choice(...AVERAGES),
  part: choice("all", "aa", "ab", "ba", "bb"),
  pencil: { ...choice("off", "on"), unlinked: /** @type {const} */ (true) }, // who opens a link reads first
  scope: { ...choice(...SCOPES), unlinked: /** @type {const} */ (true) },
});

/** How an attention's pencil lies until somebody takes it. */
export const pencilDown = attentionState.patch({ pencil: "off", scope: "head" }).viewState;

/** Its puzzles are of these weights. */
export const GAME_MODEL = "stories-gpt";

/** Of the game: its puzzle, by number; null: today's. */
export const gameState = viewState("game", { puzzle: index(/** @type {number|null} */ (null)) });
