/** Builds the request for a run. No DOM. */

import { attentionsOf, has, overviewOf, tapOf, writesTarget } from "../model/description.js";
import { maskEdited, withPads } from "../model/interventions.js";
import { runOf } from "../state/run.js";

/**
 * @import { Run } from "../state/run.js"
 * @import { State } from "../state/store.js"
 */

/**
 * A run as the API takes it. Fields without effect are left out (without PADs, their switches), so that each picture
 * has exactly one request.
 * @param {Run} run
 */
export function asked({ model, input, target, target_ids, masks, pad, interventions }) {
  const written = target_ids ? { target_ids } : target !== null ? { target } : {};
  const sentence = { model, ...input, ...written };
  const edits = interventions.length ? { interventions } : {};
  if (pad.hidden) return { ...sentence, masks, pad: { hidden: pad.hidden }, ...edits };
  if (!pad.count) return { ...sentence, masks: { causal: masks.causal, padding: true }, ...edits };
  return { ...sentence, masks, pad, ...edits };
}

/** The part of a request that says what is traced. @param {State} state */
export const requestOf = (state) => asked(runOf(state));

/** The run that a generation continues: it reads the sentence without its PADs. @param {Run} run @param {any} model */
const unpadded = (run, model) => withPads(run, { ...run.pad, count: 0 }, attentionsOf(model));

/**
 * The request that continues a run: its sentence, or its target, up to here.
 * @param {State} state @param {number[]} ids @param {any} model
 */
export function writingRequest(state, ids, model) {
  const written = writesTarget(model) ? { target_ids: ids } : { input: { token_ids: ids }, target_ids: null };
  return asked(unpadded({ ...runOf(state), target: null, ...written }, model));
}

/**
 * The request that translates a sentence: without the reader's own target.
 * @param {State} state @param {any} model
 */
export const translationRequest = (state, model) =>
  asked(unpadded({ ...runOf(state), target: null, target_ids: null }, model));

/**
 * Keeps the model's own target, so that every part of a picture, and the run it is compared with, has the same one.
 * @param {State} state @param {any} meta  of the overview
 */
export function withTarget(state, { target_tokens: tokens }) {
  if (!tokens || state.file !== null || state.targetIds) return state;
  return { ...state, target: null, targetIds: tokens.map((/** @type {{id: number}} */ { id }) => id) };
}

/** The key of the trace that `state` shows. @param {State} state */
export const keyOf = (state) => state.file ?? JSON.stringify(requestOf(state));

/** The taps of all heads' pictures. @param {any} model @returns {string[]} */
export const picturesOf = (model) => attentionsOf(model).flatMap((one) => one.roles[overviewOf(one) ?? ""]?.taps ?? []);

/** Every head as a picture, and the masks. @param {State} state @param {any} model */
export function overviewRequest(state, model) {
  const all = attentionsOf(model);
  const edited = maskEdited(state.interventions, all);
  const masked = all.filter((one) => has(one, "mask"));
  // All layers share the mask of the first, unless one of them is edited.
  const masks = masked.flatMap((one) => (edited.has(one) ? one.roles.mask.taps : [tapOf(one, 0, "mask")]));
  return { ...requestOf(state), want: [...picturesOf(model), ...masks], dtype: "uint8", pooled: true };
}

/** How many candidates a prediction lists. */
export const N_CANDIDATES = 20;

/** The request for the prediction after a position. @param {State} state @param {number} position */
export function predictionOf(state, position) {
  return { ...requestOf(state), want: [], predict: listed(state, [position]) };
}

/** Which predictions a trace lists. @param {State} state @param {number[]|null} positions  null: the last */
export function listed({ temperature, topK: top_k, topP: top_p }, positions) {
  return { positions, n: N_CANDIDATES, temperature, top_k, top_p };
}

/**
 * The row whose next token is shown, as far as it is known before the tokens are: null for the last, undefined if it is
 * not known.
 * @param {State} state @param {any} model @returns {number[]|null|undefined}
 */
export function rowsAhead({ query, row, ids, padCount }, model) {
  if (model?.description.writes !== "source") return undefined;
  if (query === null) return row === null ? null : undefined;
  return ids && query < ids.length + padCount ? [query] : undefined;
}
