/** How a run is asked for. No DOM. */

import { runOf } from "../state/run.js";

/**
 * A run as the API takes it. What means nothing is left out (without PADs their switches do), so that one picture has one
 * request.
 * @param {import("../state/run.js").Run} run
 */
export function asked({ model, input, target, target_ids, masks, pad, interventions }) {
  const written = target_ids ? { target_ids } : target !== null ? { target } : {};
  const sentence = { model, ...input, ...written };
  const edits = interventions.length ? { interventions } : {};
  if (!pad.count) return { ...sentence, masks: { causal: masks.causal, padding: true }, ...edits };
  return { ...sentence, masks, pad, ...edits };
}

/** The part of a request that says what is traced. @param {import("../state/store.js").State} state */
export const requestOf = (state) => asked(runOf(state));

/** The name of what `state` shows: a trace of it has this key. @param {import("../state/store.js").State} state */
export const keyOf = (state) => state.file ?? JSON.stringify(requestOf(state));
