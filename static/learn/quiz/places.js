/**
 * Which question the quiz asks where, and what it needs for it. To add a question: a file with an `Ask` (questions/pieces.js), a line in
 * questions/index.js, and its place here. A question covers what would give it away; it never changes a number.
 */

import { isTrained } from "../../model/compare/runs.js";
import { fillsMask, predictsTokens } from "../../model/description.js";
import { VIEWS } from "../../stations/index.js";
import { givenBy } from "../../stations/view.js";

/**
 * @import { State } from "../../state/store.js"
 * @import { Given, View } from "../../stations/view.js"
 */

/**
 * @typedef {{name: string, how: "covers"|"beside"|"note", after?: string}} Asked  "note": covered as well, but
 *   asked elsewhere; `after`: what it would give away, if that were still open
 */

/** Whether the answer is out of sight now, and there is one. @param {State} state */
export const canAskMask = (state) => state.file === null && isTrained(state) && !state.compare;

/**
 * The page's places, each with its current question.
 * @param {State} state @param {any} model @param {Given|undefined} explains  what the inspector gives away meanwhile
 * @param {View[]} [views]
 * @returns {Object<string, Asked|null>}
 */
export function questionPlaces(state, model, explains, views = VIEWS) {
  const end = fillsMask(model) ? null : predictsTokens(model) ? "next" : "classes";
  /** @param {Given} [given] */
  const asked = (given) => (given === "end" ? end : (given ?? null));
  const opened = asked(givenBy(views, state, model));
  const explained = asked(explains);
  /** @type {Asked|null} */
  const ending = end && { name: end, how: opened === end ? "note" : "covers" }; // asked once, in the larger place
  return {
    opened: opened ? { name: opened, how: "covers" } : null,
    inspector: explained ? { name: explained, how: explained === opened ? "note" : "covers" } : null,
    next_token: predictsTokens(model) ? ending : null,
    classes: predictsTokens(model) ? null : ending,
    masks: { name: "mask", how: "beside" },
    generation: predictsTokens(model) ? { name: "temperature", how: "beside", after: "next" } : null,
  };
}

/** What the questions draw from. @param {State} state @param {any} model */
export function questionNeeds(state, model) {
  const needs = ["detail"];
  if (predictsTokens(model)) needs.push("prediction");
  if (canAskMask(state)) needs.push("compared_detail");
  if (givenBy(VIEWS, state, model) === "units") needs.push("explain:units");
  return needs;
}
