/** The causal mask off in one layer only: an intervention that allows every cell of it. No DOM. */

import { sameValue } from "../state/own.js";
import { trainedCausal } from "./description.js";

/** @typedef {import("../state/store.js").State} State  @typedef {import("../state/run.js").Intervention} Intervention */

/** @param {string} attention @param {number} layer @returns {Intervention} */
const opened = (attention, layer) => ({ kind: "mask", where: { attention, layer, role: "mask" }, allow: true });

/** @param {State} state @param {Intervention} one */
const hasOne = ({ interventions }, one) => interventions.some((other) => sameValue(other, one));

/**
 * From the mask off in every layer to this layer only, and back; null where it is neither, or where PADs would be allowed too.
 * @param {State} state @param {import("./description.js").Attention} attention  the open one @param {any} model
 * @returns {{only: boolean, patch: import("../state/store.js").Patch}|null} `only`: the patch leads to this layer only
 */
export function layerOnly(state, attention, model) {
  if (!attention.causal || state.padCount > 0 || state.against) return null;
  const one = opened(attention.id, state.layer);
  const others = state.interventions.filter((other) => !sameValue(other, one));
  if (hasOne(state, one)) return { only: false, patch: { causal: false, interventions: others } };
  const isOff = (state.causal ?? trainedCausal(model)) === false || state.interventions.length === 0;
  return isOff ? { only: true, patch: { causal: null, interventions: [...state.interventions, one] } } : null;
}
