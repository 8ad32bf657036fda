/** The causal mask off in one layer only: an intervention that allows every cell of it. No DOM. */

import { attentionsOf, trainedCausal } from "./description.js";
import { attentionNamed } from "./interventions.js";

/**
 * @import { Intervention } from "../state/run.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Attention } from "./description.js"
 */

/** @param {string} attention @param {number} layer @returns {Intervention} */
const opened = (attention, layer) => ({ kind: "mask", where: { attention, layer, role: "mask" }, allow: true });

/**
 * The interventions that switch the causal mask off in a whole layer, of any layer.
 * @param {Pick<State, "interventions">} state @param {any} model
 */
export const openedLayers = ({ interventions }, model) =>
  interventions.filter((one) => isWhole(one) && attentionNamed(one, attentionsOf(model))?.causal);

/** @param {Intervention} one */
const isWhole = ({ kind, where, allow }) =>
  kind === "mask" && allow === true && ["head", "query", "key"].every((name) => (where[name] ?? null) === null);

/**
 * The change that puts the causal mask on, or off, in every layer.
 * @param {State} state @param {boolean} on @param {any} model @returns {Patch}
 */
export function everyLayer(state, on, model) {
  const ones = openedLayers(state, model);
  const causal = on === trainedCausal(model) ? null : on;
  return ones.length ? { causal, interventions: state.interventions.filter((one) => !ones.includes(one)) } : { causal };
}

/**
 * From the mask off in every layer to this layer only; and back, wherever it is off. Null where it is neither, or where
 * PADs would be allowed too.
 * @param {State} state @param {Attention} attention  the open one @param {any} model
 * @returns {{only: boolean, patch: Patch}|null} `only`: the patch leads to this layer only
 */
export function layerOnly(state, attention, model) {
  if (!attention.causal) return null;
  if (openedLayers(state, model).length) return { only: false, patch: everyLayer(state, false, model) };
  if (state.padCount > 0 || state.against) return null;
  const isOff = (state.causal ?? trainedCausal(model)) === false || state.interventions.length === 0;
  const one = opened(attention.id, state.layer);
  return isOff ? { only: true, patch: { causal: null, interventions: [...state.interventions, one] } } : null;
}
