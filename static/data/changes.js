/** The two runs that are compared, as numbers, and what a padded one should equal. No DOM. */

import { inside } from "../model/compare/measure.js";
import { aloneOf, compared, offsetOf, otherOf } from "../model/compare/runs.js";
import { predictsTokens } from "../model/description.js";
import { rowOf } from "../model/selection.js";
import { sidesOf } from "../model/sides.js";

/** Both runs as numbers, and what a padded one should equal. @returns {Promise<import("./model_trace.js").Change>} */
export async function changeOf(traces, state, trace) {
  const { model, written } = trace;
  const { before, after } = compared(state, model);
  const most = Math.max(trace.sides.source.tokens.length, trace.sides.target?.tokens.length ?? 0);
  const run = async (one, kind) => {
    const asked = [traces.weights(one, most, `${kind}_weights`), traces.logits(one, `${kind}_logits`)];
    const [weights, logits] = await Promise.all(asked);
    return { weights, logits, sides: sidesOf(weights.meta), classes: weights.meta.classes ?? null };
  };
  const [was, is, alone, otherPrediction] = await Promise.all([
    run(before, "before"),
    run(after, "after"),
    state.padCount && state.causal !== null ? aloneRun(traces, state) : null,
    predictsTokens(model) ? predictionBeside(traces, state, trace, written) : null,
  ]);
  // As trained, but for PADs, the single run is the one before: "other", which is loaded first.
  const single = state.padCount && state.causal === null ? { detail: trace.other, logits: was.logits } : alone;
  return { before: was, after: is, alone: single, otherPrediction };
}

/** What the other run predicts after the same token; null where that run has no such row: it is a PAD's. */
async function predictionBeside(traces, state, trace, { side, real }) {
  const row = rowOf(state, trace);
  const other = otherOf(state, trace.model);
  if (!inside(real, row)) return null;
  return traces.prediction(other, row - offsetOf(state, side) + offsetOf(other, side), "other_prediction");
}

async function aloneRun(traces, state) {
  const alone = aloneOf(state);
  const [detail, logits] = await Promise.all([traces.detail(alone, "alone"), traces.logits(alone, "alone_logits")]);
  return { detail, logits };
}
