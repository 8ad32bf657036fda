/** What a link says about the river in addition to the run, and the changes that lead into the model and back. */

import { choice, onOff, text } from "../state/fields.js";
import { viewState } from "../state/view_state.js";

/**
 * @import { Rollout } from "../model/contribution_rollout.js"
 * @import { State } from "../state/store.js"
 * @import { Head } from "./layout/heads.js"
 */

/**
 * `shown`: while hidden, the river requests and measures nothing. `heads`: whose heads are drawn, where a stack has
 * several attentions, or "none"; `layer`: the open one, as stack.layer; `depth`: whether the page's open head is opened
 * in the picture, and its chosen cell, too.
 */
export const riverState = viewState("river", {
  shown: onOff(true),
  heads: text(null),
  layer: text(null),
  depth: choice("layers", "head", "cell"),
});

/** @typedef {{stack: string, layer: number}} Open */

/** Whether a head is open in the picture. @param {Pick<State, "viewState">} state */
export const isDeep = (state) => riverState.of(state).depth !== "layers";

/** The inspector explains a weight of the open head, whatever station is open below. @param {State} state @returns {State} */
export const asOfWeights = (state) => ({
  ...state,
  view: "attention",
  viewState: { ...state.viewState, attention: {} },
});

/** The open layer, if the model has it: that of the open head. @param {State} state @param {Rollout[]} rolled @returns {Open|null} */
export function openLayer(state, rolled) {
  const [stack, layer] = isDeep(state) ? headsLayer(state, rolled) : (riverState.of(state).layer ?? "").split(".");
  const known = rolled.find(({ river }) => river.stack === stack)?.river;
  return known && /^\d+$/.test(layer ?? "") && Number(layer) < known.layers ? { stack, layer: Number(layer) } : null;
}

/** @param {State} state @param {Rollout[]} rolled @returns {[string, string]} */
function headsLayer({ attention, layer }, rolled) {
  const rollout = rolled.find(({ flows }) => flows.some(({ flow }) => flow.attention === attention)) ?? rolled[0];
  return [rollout.river.stack, String(layer)];
}

/** @param {Open} open */
const named = ({ stack, layer }) => `${stack}.${layer}`;

/** The change that opens a layer, or closes it if it is open. @param {Open|null} open @param {Open|null} now */
export const openingLayer = (open, now) =>
  riverState.patch({ depth: "layers", layer: open && !(now && named(now) === named(open)) ? named(open) : null });

/** The change that leaves what is open in the picture. */
export const closingAll = () => riverState.patch({ depth: "layers", layer: null });

/** The change that opens one head in the picture. @param {Head} head */
export const openingHead = ({ attention, layer, head }) => ({
  attention,
  layer,
  head,
  ...riverState.patch({ depth: "head" }),
});

/** The change that leads one step out: from a cell to its head, to its layer, to the whole model; null: this is the whole. @param {State} state @param {Open|null} open */
export function outward(state, open) {
  if (!open) return null;
  if (riverState.of(state).depth === "cell") return riverState.patch({ depth: "head" });
  return riverState.patch({ depth: "layers", layer: isDeep(state) ? named(open) : null });
}
