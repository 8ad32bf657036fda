/** What a view needs, by role: the roles its attention must have, and their tensors. No DOM. */

import { attentionOf, has, tapOf } from "./description.js";

/**
 * @import { State } from "../state/store.js"
 * @import { Model } from "./description.js"
 */

/** @typedef {Pick<State, "attention"|"layer">} Open */

/** The needs of taps of the run. @param {...string} taps */
export const tensors = (...taps) => taps.map((tap) => `tensor:${tap}`);

/** The needs of parameters; null or undefined: the model has none. @param {...(string|null|undefined)} names */
export const weights = (...names) => names.filter(Boolean).map((name) => `weight:${name}`);

/** Whether the open attention has all of these roles. @param {string[]} roles @param {Model} model @param {Open} state */
export function hasRoles(roles, model, { attention }) {
  const open = attentionOf(model, attention);
  return roles.every((role) => has(open, role));
}

/** "role:z" is the open attention's tensor in the open layer: "tensor:<its name>". @param {string} need @param {Open} state @param {Model} model */
export function named(need, { attention, layer }, model) {
  const [kind, role] = need.split(":");
  return kind === "role" ? `tensor:${tapOf(attentionOf(model, attention), layer, role)}` : need;
}
