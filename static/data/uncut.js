/** The run without its cuts: what the river shows beside it. No DOM. */

import { cutsOf, uncut } from "../model/cuts.js";
import { rowOf } from "../model/selection.js";

/**
 * @import { State } from "../state/store.js"
 * @import { ModelTrace } from "./model_trace.js"
 */

/**
 * @typedef {{route: any, predictions: Object<number, any>, classes: ModelTrace["classes"]}} Uncut
 */

/**
 * null: nothing is cut. Each question comes after that of the run itself, which would give up an older one.
 * @param {ReturnType<typeof import("./traces.js").createTraces>} traces
 * @param {State} state @param {ModelTrace} trace @returns {Promise<Uncut|null>}
 */
export async function uncutOf(traces, state, trace) {
  if (!cutsOf(state.interventions, trace.attentions).length) return null;
  const before = { ...state, interventions: uncut(state.interventions) };
  const row = trace.written && rowOf(state, trace);
  const [route, prediction, overview] = await Promise.all([
    traces.explain(state, trace, "route").then(() => traces.explain(before, trace, "route")),
    row === null ? null : traces.prediction(state, row).then(() => traces.prediction(before, row)),
    trace.classes ? traces.overview(before) : null,
  ]);
  return { route, predictions: row === null ? {} : { [row]: prediction }, classes: overview?.meta.classes ?? null };
}
