/** The tabs of this station: which one is open, and what each needs. No DOM. */

import { own } from "../../data/embedding.js";
import { attentionOf, can, stackOf } from "../../model/description.js";
import { tensors } from "../../model/needs.js";

/**
 * @import { Stack } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 */

/** What each of its tabs needs, of the stack that is shown. @type {Object<string, (stack: Stack) => string[]>} */
export const TABS = {
  sum: (stack) => tensors(...summandsOf(stack).map(({ tap }) => tap)),
  positions: () => ["explain:positions"],
  swap: () => ["explain:swap"],
  neighbours: () => ["explain:neighbours"],
};

/** E[id], the position and their sum X; the position is left out where there is none. @param {Stack} stack */
export function summandsOf({ embedding: { roles, norm }, layers }) {
  const sum = norm ? norm.roles.input : layers[0].sublayers[0].reads;
  const all = { embedding: roles.embedding, position: roles.positional, x: sum };
  return Object.entries(all).flatMap(([name, role]) => (role ? [{ name, tap: role.tap }] : []));
}

/** Whether a model has what a tab shows. @param {string} name @param {any} model */
export const hasTab = (name, model) =>
  name === "sum" || Object.keys(model.description.can).length === 0 || can(model, name);

/** The open tab, or the sum if the model lacks the tab in the link. @param {State} state @param {any} model */
export const tabOf = (state, model) => (hasTab(own.of(state).tab, model) ? own.of(state).tab : "sum");

/** @param {State} state @param {any} model */
export const shownStack = (state, model) => stackOf(model, attentionOf(model, state.attention));
