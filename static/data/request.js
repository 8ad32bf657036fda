/** Builds the request for a run. No DOM. */

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

/** The run that a generation continues: it reads the sentence without its PADs. @param {import("../state/store.js").State} state */
const unpadded = (state) => runOf({ ...state, padCount: 0 });

/**
 * How a run is written on: its sentence, or its target, up to here.
 * @param {import("../state/store.js").State} state @param {number[]} ids @param {boolean} isTarget
 */
export function writingRequest(state, ids, isTarget) {
  const run = unpadded(state);
  const written = isTarget ? { target_ids: ids } : { input: { token_ids: ids }, target_ids: null };
  return asked({ ...run, target: null, ...written });
}

/** How a sentence is translated: by no target of the reader's. @param {import("../state/store.js").State} state */
export const translationRequest = (state) => asked({ ...unpadded(state), target: null, target_ids: null });

/** The name of what `state` shows: a trace of it has this key. @param {import("../state/store.js").State} state */
export const keyOf = (state) => state.file ?? JSON.stringify(requestOf(state));
