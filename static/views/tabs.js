/** The tabs inside a station (of the prediction, the residual stream, the embedding): which one is open, and what each needs. No DOM. */

import { embeddingState } from "../data/embedding.js";
import { lazily } from "../data/lazily.js";
import { attentionOf, can, fillsMask, predictsTokens, stackOf } from "../model/description.js";
import { tensorNeeds } from "../model/taps.js";
import { predictionState, residualState } from "./view_states.js";

/**
 * @import { Model, Stack } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { ViewStates } from "../state/view_state.js"
 */

// The two tabs: the probabilities of the next token, and the answer by layer.

/** @typedef {"token"|"layers"} Tab */

/** A classifier's classes have a panel of their own. @param {Model} model @returns {Tab[]} */
export const predictionTabsOf = (model) => [
  ...(predictsTokens(model) ? [/** @type {const} */ ("token")] : []),
  ...(can(model, "lens") && !fillsMask(model) ? [/** @type {const} */ ("layers")] : []),
];

/** The open one. @param {{viewState: ViewStates}} state @param {Model} model @returns {Tab} */
export function predictionTabOf(state, model) {
  const { tab } = predictionState.of(state);
  return predictionTabsOf(model).includes(tab) ? tab : (predictionTabsOf(model)[0] ?? tab);
}

/** Each tab's code is loaded when it is first shown. */
export const PREDICTION_TABS = {
  token: lazily(() => import("./prediction/token.js")),
  layers: lazily(() => import("./prediction/layers/draw.js")),
};

/** What the open tab of the residual stream needs. @param {State} state @param {Model} model @returns {string[]} */
export function residualNeeds(state, model) {
  const { tab } = residualState.of(state);
  if (tab !== "gradients") return [tab === "parameters" ? "explain:parameters" : "explain:residual"];
  return ["explain:gradients", ...(predictsTokens(model) ? ["prediction"] : [])];
}

/** What each of its tabs needs, of the stack that is shown. @type {Object<string, (stack: Stack) => string[]>} */
export const EMBEDDING_TABS = {
  sum: (stack) => tensorNeeds(...summandsOf(stack).map(({ tap }) => tap)),
  positions: () => ["explain:positions"],
  swap: () => ["explain:swap"],
  neighbours: () => ["explain:neighbours"],
};

/** E[id], the token type, the position, and their sum X, in the order of BERT; what a model does not add is left out. @param {Stack} stack */
export function summandsOf({ embedding: { roles, norm }, layers }) {
  const sum = norm ? norm.roles.input : layers[0].sublayers[0].reads;
  const all = { embedding: roles.embedding, token_type: roles.token_types, position: roles.positional, x: sum };
  return Object.entries(all).flatMap(([name, role]) => (role ? [{ name, tap: role.tap }] : []));
}

/** Whether a model has what a tab shows. @param {string} name @param {Model} model */
export const hasTab = (name, model) =>
  name === "sum" || Object.keys(model.description.can).length === 0 || can(model, name);

/** The open tab, or the sum if the model lacks the tab in the link. @param {State} state @param {Model} model */
export const embeddingTabOf = (state, model) =>
  hasTab(embeddingState.of(state).tab, model) ? embeddingState.of(state).tab : "sum";

/** @param {State} state @param {Model} model */
export const shownStack = (state, model) => stackOf(model, attentionOf(model, state.attention));
