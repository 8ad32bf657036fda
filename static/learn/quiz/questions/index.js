/**
 * The questions of the quiz. To add one: a file with an `Ask` (pieces.js), a line in QUESTIONS, and its place in
 * `placesOf`. A question covers what would give it away; it never changes a number.
 */

import { predictsTokens } from "../../../model/description.js";
import { givenBy, VIEWS } from "../../../stations/index.js";
import { askAttention } from "./attention.js";
import { askClasses } from "./classes.js";
import { askMask, canAskMask } from "./mask.js";
import { askNext } from "./next.js";
import { askTemperature } from "./temperature.js";
import { askUnits } from "./units.js";

/**
 * @typedef {import("../../../stations/index.js").Given} Given
 * @typedef {{name: string, how: "covers"|"beside"|"note", after?: string}} Asked  "note": covered as well, but
 *   asked elsewhere; `after`: what it would give away, if that were still open
 */

/** @type {Object<string, import("./pieces.js").Ask>} */
export const QUESTIONS = {
  next: askNext,
  classes: askClasses,
  attention: askAttention,
  mask: askMask,
  temperature: askTemperature,
  units: askUnits,
};

/**
 * The page's places, each with its current question.
 * @param {import("../../../state/store.js").State} state @param {any} model @param {Given|undefined} explains  what the inspector gives away meanwhile
 * @param {import("../../../stations/index.js").View[]} [views]
 * @returns {Object<string, Asked|null>}
 */
export function placesOf(state, model, explains, views = VIEWS) {
  const end = predictsTokens(model) ? "next" : "classes";
  /** @param {Given} [given] */
  const asked = (given) => (given === "end" ? end : (given ?? null));
  const opened = asked(givenBy(views, state, model));
  const explained = asked(explains);
  /** @type {Asked} */
  const ending = { name: end, how: opened === end ? "note" : "covers" }; // asked once, in the larger place
  return {
    opened: opened ? { name: opened, how: "covers" } : null,
    why: explained ? { name: explained, how: explained === opened ? "note" : "covers" } : null,
    next_token: predictsTokens(model) ? ending : null,
    classes: predictsTokens(model) ? null : ending,
    masks: { name: "mask", how: "beside" },
    generation: predictsTokens(model) ? { name: "temperature", how: "beside", after: "next" } : null,
  };
}

/** What the questions draw from. @param {import("../../../state/store.js").State} state @param {any} model */
export function questionNeeds(state, model) {
  const needs = ["detail"];
  if (predictsTokens(model)) needs.push("prediction");
  if (canAskMask(state)) needs.push("other");
  if (givenBy(VIEWS, state, model) === "units") needs.push("explain:units");
  return needs;
}
