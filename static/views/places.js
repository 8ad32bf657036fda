/**
 * Where a view is in the model. The place of the page is a path (model › layer 5 › head 5), which follows from the open view, the
 * chosen layer and the chosen head; so a link has it without a field of its own.
 */

import { ranksLow } from "../data/explain.js";
import { attentionOf, writesTarget } from "../model/description.js";
import { standsForWritten } from "../model/written.js";
import { walkState } from "./view_states.js";

/**
 * @import { Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 */

/**
 * @typedef {"model"|"embedding"|"head"|"ffn"|"residual"|"prediction"|"tools"} PlaceName
 * @typedef {{name: PlaceName, layer: boolean}} Place  `layer`: it is in the open layer
 */

/** By view. A tool is no place in the model: it is reached from the menu of tools. @type {Object<string, PlaceName>} */
const PLACES = {
  model: "model",
  tokens: "embedding",
  embedding: "embedding",
  qkv: "head",
  distance: "head",
  rotation: "head",
  attention: "head",
  decay: "head",
  gate: "head",
  av: "head",
  ffn: "ffn",
  residual: "residual",
  prediction: "prediction",
  training: "tools",
  cost: "tools",
  computation: "head",
};

/** @param {string} view @returns {PlaceName} */
export const placeNamed = (view) => PLACES[view] ?? "tools";

/** The walk through the calculation is where its step is. @type {Object<string, PlaceName>} */
const OF_STEPS = { in: "embedding", ffn: "ffn", out: "prediction" };

/** @param {Pick<State, "view"|"viewState">} state @returns {Place} */
export const placeOf = (state) => {
  const group = state.view === "computation" ? walkState.of(state).step?.split(".")[0] : undefined;
  const name = OF_STEPS[group ?? ""] ?? placeNamed(state.view);
  return { name, layer: name === "head" || name === "ffn" };
};

/** The drawers that speak of the whole model: it stays whole above them, in less height (css/layout.css). */
const LOW_DRAWERS = ["generation", "cache", "rank"];

/** @param {Pick<State, "drawer"|"lesson"|"viewState">} state */
export const opensLow = (state) =>
  state.lesson === null && LOW_DRAWERS.includes(state.drawer ?? "") && (state.drawer !== "rank" || ranksLow(state));

/** Whether the whole model is open, and not a place in it. @param {Pick<State, "view">} state */
export const isModel = ({ view }) => view === "model";

/**
 * Whether a chosen row of a translation stands for the token that it writes (model/written.js): in the whole model, in a head
 * of the cross-attention and at the prediction. Elsewhere it is the token itself.
 * @param {State} state @param {Model} model
 */
export function choosesWritten(state, model) {
  const { name } = placeOf(state);
  if (name === "head") return standsForWritten(attentionOf(model, state.attention));
  return writesTarget(model) && (name === "model" || name === "prediction");
}

/**
 * The change that leads one step out: from a view of a head or an FFN to its layer, from any other to the model; null: this is the
 * whole.
 * @param {State} state @param {Model} model
 */
export function outward(state, model) {
  const { layer } = placeOf(state);
  if (isModel(state)) return state.viewState.river?.layer ? { viewState: { river: { layer: null } } } : null;
  const stack = attentionOf(model, state.attention)?.stack ?? null;
  return { view: "model", viewState: { river: { layer: layer && stack ? `${stack}.${state.layer}` : null } } };
}
