/** The numbers of the two compared runs, and of the run that a padded one should equal. No DOM. */

import { aloneOf, compared, comparisonOf, isTrained, otherRun, sidesAfter } from "../model/compare/runs.js";
import { predictsTokens } from "../model/description.js";
import { knockoutsOf, withoutKnockouts } from "../model/interventions.js";
import { rowOf } from "../model/selection.js";
import { inside, sidesOf } from "../model/sides.js";

/**
 * @import { Side } from "../model/sides.js"
 * @import { State } from "../state/store.js"
 * @import { Compared, ModelTrace } from "./model_trace.js"
 */

// The run without its cuts: what the river shows beside it. No DOM.

/**
 * @typedef {{route: any, predictions: Object<number, any>, classes: ModelTrace["classes"]}} RunWithoutKnockouts
 */

/**
 * null: nothing is cut. Each question comes after that of the run itself, which would give up an older one.
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 * @param {State} state @param {ModelTrace} trace @returns {Promise<RunWithoutKnockouts|null>}
 */
export async function runWithoutKnockouts(traces, state, trace) {
  if (!knockoutsOf(state.interventions, trace.attentions).length) return null;
  const before = { ...state, interventions: withoutKnockouts(state.interventions) };
  const row = trace.written && rowOf(state, trace);
  const [route, prediction, overview] = await Promise.all([
    traces.explain(state, trace, "route").then(() => traces.explain(before, trace, "route")),
    row === null ? null : traces.prediction(state, row).then(() => traces.prediction(before, row)),
    trace.classes ? traces.overview(before) : null,
  ]);
  return { route, predictions: row === null ? {} : { [row]: prediction }, classes: overview?.meta.classes ?? null };
}

/**
 * @typedef {ReturnType<typeof import("./traces.js").createTraces>} Traces
 */

/** Of a text whose pictures are pooled, more logits than these are not asked for. */
const MANY_LOGITS = 12_000_000;

/**
 * Both runs as numbers, and what a padded one should equal.
 * @param {Traces} traces @param {State} state @param {ModelTrace} trace @returns {Promise<Compared>}
 */
export async function comparedRuns(traces, state, trace) {
  const { model, written } = trace;
  const { before, after } = compared(state, model);
  const most = Math.max(trace.sides.source.tokens.length, trace.sides.target?.tokens.length ?? 0);
  const rows = trace.written ? trace.written.tokens.length : 1;
  const few = !(trace.pool > 1) || rows * model.vocab_size <= MANY_LOGITS;
  /** @param {State} one @param {"before"|"after"} kind */
  const run = async (one, kind) => {
    const [weights, logits] = await Promise.all([
      trace.pool > 1 ? traces.about(one, `${kind}_weights`) : traces.weights(one, most, `${kind}_weights`),
      few ? traces.logits(one, `${kind}_logits`) : null,
    ]);
    return { weights, logits, sides: sidesOf(weights.meta), classes: weights.meta.classes ?? null };
  };
  const [was, is, alone, prediction] = await Promise.all([
    run(before, "before"),
    run(after, "after"),
    hasAlone(state) && !isOnlyPadded(state) ? aloneRun(traces, state, model) : null,
    predictsTokens(model) && written ? comparedPrediction(traces, state, trace, written) : null,
  ]);
  // If only PADs differ from training, the single run is the run before: "compared_detail", which is loaded first.
  const single = hasAlone(state) && isOnlyPadded(state) ? { detail: trace.comparedDetail, logits: was.logits } : alone;
  return { before: was, after: is, sides: sidesAfter(state, model, before), alone: single, prediction };
}

/**
 * What the other run predicts after the same token; null in a PAD's row, which the other run lacks.
 * @param {Traces} traces @param {State} state @param {ModelTrace} trace @param {Side} written
 */
async function comparedPrediction(traces, state, trace, { side, real }) {
  const row = rowOf(state, trace);
  const there = inside(real, row) ? comparisonOf(state, trace.model).sides[side]?.at(row) : null;
  return there == null ? null : traces.prediction(otherRun(state, trace.model), there, "compared_prediction");
}

/** Whether only PADs differ from training. @param {State} state */
const isOnlyPadded = (state) => !isTrained(state) && isTrained({ ...state, padCount: 0 });

/** A padded run is also compared with the run without its PADs. @param {State} state */
const hasAlone = ({ padCount, against }) => padCount > 0 && against === null;

/** @param {Traces} traces @param {State} state @param {any} model */
async function aloneRun(traces, state, model) {
  const alone = aloneOf(state, model);
  const [detail, logits] = await Promise.all([traces.detail(alone, "alone"), traces.logits(alone, "alone_logits")]);
  return { detail, logits };
}
