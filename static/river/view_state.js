/** What a link says of the river beside the run. */

import { onOff, text } from "../state/fields.js";
import { viewState } from "../state/view_state.js";
import { isModel, placeOf } from "../views/places.js";

/**
 * @import { Rollout } from "../model/contribution_rollout.js"
 * @import { State } from "../state/store.js"
 * @import { Head } from "./layout/heads.js"
 */

/**
 * `shown`: a lesson may put it away, and then it asks for nothing and measures nothing. `heads`: whose heads are drawn, where a
 * stack has several attentions, or "none"; `layer`: the open one, as stack.layer.
 */
export const riverState = viewState("river", {
  shown: onOff(true),
  heads: text(null),
  layer: text(null),
});

/** @typedef {{stack: string, layer: number}} Open */

/** The open layer, if the model has it: that of the open view, or the one that is opened in the whole river. @param {State} state @param {Rollout[]} rolled @returns {Open|null} */
export function openLayer(state, rolled) {
  if (!isModel(state) && !placeOf(state).layer) return null;
  const [stack, layer] = isModel(state) ? (riverState.of(state).layer ?? "").split(".") : viewsLayer(state, rolled);
  const known = rolled.find(({ river }) => river.stack === stack)?.river;
  return known && /^\d+$/.test(layer ?? "") && Number(layer) < known.layers ? { stack, layer: Number(layer) } : null;
}

/** @param {State} state @param {Rollout[]} rolled @returns {[string, string]} */
function viewsLayer({ attention, layer }, rolled) {
  const rollout = rolled.find(({ flows }) => flows.some(({ flow }) => flow.attention === attention)) ?? rolled[0];
  return [rollout.river.stack, String(layer)];
}

/** @param {Open} open */
const named = ({ stack, layer }) => `${stack}.${layer}`;

/** The change that opens a layer of the whole river; null: none. @param {Open|null} open */
export const openingLayer = (open) => ({ view: "model", ...riverState.patch({ layer: open && named(open) }) });

/** The change that opens one head. @param {Head} head */
export const openingHead = ({ attention, layer, head }) => ({ attention, layer, head, key: null, view: "attention" });
