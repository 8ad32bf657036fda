/** Requests to /api/explain/…: the fields of each question, from the state and the trace. No DOM. */

import { compared, sidesAfter } from "../model/compare/runs.js";
import { can, stackOf } from "../model/description.js";
import { indexOfMost } from "../model/matrix.js";
import { position, rowOf } from "../model/selection.js";
import { inside } from "../model/sides.js";
import { choice, onOff, typed } from "../state/fields.js";
import { viewState } from "../state/view_state.js";
import { embeddingState as embeddingView, lookedUp, swapOf } from "./embedding.js";
import { requestOf } from "./request.js";
import { prefixRow, trainingState as trainingView } from "./training.js";

/**
 * @import { Alignment } from "../model/compare/compare.js"
 * @import { Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { ModelTrace } from "./model_trace.js"
 * @import { When } from "./needs.js"
 */

/** How the effect of a head is measured: on the answer, or on all answers. */
export const RANK_MEASURES = /** @type {const} */ (["delta", "kl"]);
/** What is ranked: heads and FFNs, the keys of the open row, what each part adds to the logit, what another sentence's activations do, or a head without a sentence; in one head or all of its layer; and what their effect is set against. */
export const RANK_SHOWN = /** @type {const} */ (["heads", "keys", "direct", "patch", "vocabulary"]);
export const RANK_SCOPES = /** @type {const} */ (["head", "layer"]);
export const RANK_AXES = /** @type {const} */ (["weight", "length", "logit"]);
/** Whose logit is subtracted: the mean one, or that of the next best answer. */
export const RANK_AGAINST = /** @type {const} */ (["mean", "second"]);
/** What sees a patch: all that comes after it, or one receiver alone, the answer or the open head's q, k or v. */
export const RANK_PATHS = /** @type {const} */ (["rows", "answer", "q", "k", "v"]);
/** What is put in by hand: the stream before the open layer, what its attention or FFN adds, or the open head's own. */
export const RANK_HAND = /** @type {const} */ (["stream", "attention", "ffn", "z", "q", "k", "v"]);
export const rankState = viewState("rank", {
  by: choice(...RANK_MEASURES),
  shows: choice(...RANK_SHOWN),
  scope: choice(...RANK_SCOPES),
  axis: choice(...RANK_AXES),
  bars: choice("auto", "on", "off"),
  against: choice(...RANK_AGAINST),
  source: { ...typed(null), until: /** @type {const} */ ("sentence") }, // null: what is offered first; "": none
  path: choice(...RANK_PATHS),
  ffns: onOff(false),
  hand: choice(...RANK_HAND),
  height: choice("auto", "low", "tall"), // of its sheet, which keeps it when another choice is opened
});
/** Whether the ranking is of heads. @param {Pick<import("../state/store.js").State, "viewState">} state */
export const ranksHeads = (state) => rankState.of(state).shows === "heads";

/** Whether its sheet is low: by default that of the heads, which leaves the model in sight. @param {Pick<import("../state/store.js").State, "viewState">} state */
export function ranksLow(state) {
  const { height } = rankState.of(state);
  return height === "low" || (height === "auto" && ranksHeads(state));
}

/** More is large: its lines come later, and nothing of it is measured before it is asked for. */
export const MANY_LAYERS = 12;
export const MANY_TOKENS = 256;

/** The largest vocabulary whose tokens may be bytes or characters. In a larger one, a token has about four. */
const [BYTES, CHARACTERS] = [1000, 4];

/** Whether a run is large, told from the text alone. @param {State} state @param {Model} model */
export function isLate({ text, ids, file }, { description: { stacks, vocab_size: vocab } }) {
  const layers = stacks.reduce((/** @type {number} */ sum, /** @type {any} */ stack) => sum + stack.layers.length, 0);
  const most = MANY_TOKENS * (ids || vocab < BYTES ? 1 : CHARACTERS);
  return file === null && (layers > MANY_LAYERS || (ids ?? text).length > most);
}

/** Whether what each head does for the answer is drawn: of a large run, where a reader asked for it. @param {State} state @param {Model} model */
export function showsEffects(state, model) {
  const { bars } = rankState.of(state);
  if (state.file !== null || state.quiz || state.lesson !== null || state.start || !can(model, "ablations"))
    return false;
  return bars === "on" || (bars === "auto" && !isLate(state, model));
}

/** How many candidates the lens lists, how many units a token, how many neighbours. */
const [N_LENS, N_UNITS, N_NEIGHBOURS] = [5, 8, 12];
/** Of a classifier, the lens lists all classes, up to this many. */
const MOST_LENS = 100;
/** How many runs with dropout are compared. */
const N_RUNS = 4;

/**
 * When an explanation is fetched, where that is not with the numbers of the open head.
 * @type {Object<string, When>}
 */
export const QUESTION_WHEN = {
  route: "passes",
  lens: "passes",
  writes: "after",
  writes_before: "after",
  changes: "last",
  heads: "later",
};

/** Where a question is asked, if that is not its name. @type {Object<string, string>} */
export const QUESTION_PATHS = { direct: "contributions", writes_before: "writes" };

/**
 * null: there is nothing to ask, and the answer is null.
 * @type {Object<string, (state: State, trace: ModelTrace) => object|null>}
 */
export const QUESTIONS = {
  route: (state) => requestOf(state),
  lens: (state, { classes }) => ({ ...requestOf(state), k: Math.min(classes?.length ?? N_LENS, MOST_LENS) }),
  contributions: (state, trace) => withUnits(answerRequest(state, trace), state),
  writes(state, trace) {
    const asked = answerRequest(state, trace);
    return asked && { ...asked, attention: trace.attention.id, layer: state.layer, head: state.head };
  },
  /** Of the run as trained, whose tokens are the same as long as no PAD has come. */
  writes_before(state, trace) {
    const { before } = compared({ ...state, against: null }, trace.model);
    return state.padCount > 0 ? null : QUESTIONS.writes(before, trace);
  },
  direct(state, trace) {
    const asked = measuredRequest(state, trace);
    return asked && { ...asked, against: rankState.of(state).against, by_key: true };
  },
  gradients: answerRequest,
  heads: (state) => requestOf(state),
  changes: changed,
  units: (state) => ({ ...requestOf(state), k: N_UNITS }),
  residual: (state) => requestOf(state),
  swap(state, trace) {
    const pair = swapOf(state, trace);
    return pair && { ...requestOf(state), ...pair };
  },
  /** The tokens of the second sentence. */
  spelled(state) {
    const { source } = rankState.of(state);
    return source ? { model: state.model, text: source } : null;
  },
  induction: ({ model }) => ({ model }),
  vocabulary(state, trace) {
    const token = trace.queries.tokens[position(state, trace).query];
    const where = { attention: trace.attention.id, layer: state.layer, head: state.head };
    return { model: state.model, ...where, token_id: token.id };
  },
  neighbours: (state, trace) => ({ model: state.model, token_id: lookedUp(state, trace), k: N_NEIGHBOURS }),
  positions(state, { attention, model: about }) {
    const { id, embedding } = stackOf(about, attention);
    const longer = 2 * about.description.max_seq_len;
    const continues = embedding.parameters.positions === null && embedding.positions !== "none";
    const asked = continues && embeddingView.of(state).length === longer;
    return { model: state.model, stack: id, length: asked ? longer : null };
  },
  parameters: ({ model }) => ({ model }),
  cost: ({ model }) => ({ model }),
  forcing: (state) => requestOf(state),
  prefix: (state, trace) => ({ ...requestOf(state), row: prefixRow(state, trace) }),
  dropout: (state) => ({ ...requestOf(state), seed: trainingView.of(state).seed, n: N_RUNS }),
};

/**
 * What changed in all heads, where their weights are too many to send; see `model/compare/measure.js`.
 * @param {State} state @param {ModelTrace} trace
 */
function changed(state, { pool, model, sides }) {
  if (!(pool > 1) || !state.compare) return null;
  const { before, after } = compared(state, model);
  const at = sidesAfter(state, model, before);
  const n = sides.source.real.end - sides.source.real.start;
  const places = {
    source: placesOf(at.source, n + before.padCount, n + after.padCount),
    target: sides.target && placesOf(at.target, sides.target.tokens.length, sides.target.tokens.length),
  };
  return { ...requestOf(after), before: requestOf(before), places };
}

/**
 * Of each of `length` tokens, where it is among `there` others; null: nowhere.
 * @param {Alignment|null} alignment @param {number} length @param {number} there
 */
function placesOf(alignment, length, there) {
  if (!alignment) return null;
  return Array.from({ length }, (_, index) => alignment.at(index)).map((at) => (at !== null && at < there ? at : null));
}

/** In an FFN also the units of its term. @param {object|null} request @param {State} state */
const withUnits = (request, { view, layer }) => request && (view === "ffn" ? { ...request, units_of: layer } : request);

/**
 * One answer: that of the chosen row, or a classifier's only one. A PAD has none.
 * @param {State} state @param {ModelTrace} trace
 */
export function answerRequest(state, trace) {
  const { written } = trace;
  const row = written && rowOf(state, trace);
  if (written && row !== null && !inside(written.real, row)) return null;
  return { ...requestOf(state), answer: state.answer, row };
}

/**
 * The same for what is measured while the reader edits: the answer stays that of the run as trained, until another is chosen. What an
 * edit brings to the front would otherwise change the question.
 * @param {State} state @param {ModelTrace} trace
 */
export function measuredRequest(state, trace) {
  const asked = answerRequest(state, trace);
  return asked && { ...asked, answer: asked.answer ?? answerAsTrained(trace, asked.row) };
}

/** The answer before the edits; null: there are none, or it is not here yet. @param {ModelTrace} trace @param {number|null} row @returns {number|null} */
function answerAsTrained({ asTrained, withoutKnockouts }, row) {
  const { classes = null, predictions = {} } = asTrained ?? withoutKnockouts ?? {};
  if (!classes) return row === null ? null : (predictions[row]?.candidates[0]?.id ?? null);
  return indexOfMost(classes.map(({ probability }) => probability));
}
