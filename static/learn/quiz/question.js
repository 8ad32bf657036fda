/**
 * What a question of the quiz is, where it is asked, and what it needs. To add one: an `Ask` in questions/, a line in questions/index.js,
 * and its place here. A question covers what would give it away; it never changes a number.
 */

import { isTrained } from "../../model/compare/runs.js";
import { fillsMask, predictsTokens } from "../../model/description.js";
import { h } from "../../ui/dom.js";
import { VIEWS } from "../../views/index.js";
import { givenBy } from "../../views/view.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, Given, View } from "../../views/view.js"
 */

// The types and helpers of questions.

/**
 * @typedef {{right: number, says: () => (Node|string)[]}} Verdict  which option was right, and why, with the real numbers
 * @typedef {Object} Question
 * @property {string} key  identifies the question
 * @property {(Node|string)[]} asks
 * @property {(Node|string|(Node|string)[])[]} options
 * @property {(choice: number|null) => Verdict|Promise<Verdict>} judge  null: revealed without a guess
 * @property {{words: string, patch: Partial<State>}} [more]  where to see it
 * @typedef {(trace: ModelTrace, state: State,
 *   actions: Actions) => Question|null|undefined} Ask  undefined: its data has not
 * arrived; null: there is nothing to guess
 */

/** @param {string} text */
export const figureText = (text) => h("b", { class: "mono nowrap" }, text);

/**
 * A ranking without the items that are too close to the first: a reader must be able to tell them apart.
 * @template T @param {T[]} ranked @param {(one: T) => number} value @param {number} gap
 */
export const tellable = ([first, ...rest], value, gap) =>
  first ? [first, ...rest.filter((one) => value(first) - value(one) >= gap)] : [];

/**
 * At most `count` of a ranking: the first, the second, and others spread over the rest.
 * @template T @param {T[]} ranked @param {number} [count] @returns {T[]}
 */
export function spreadOut(ranked, count = 4) {
  if (ranked.length <= count) return ranked;
  const rest = Array.from(
    { length: count - 2 },
    (_, i) => ranked[2 + Math.round(((i + 1) / (count - 2)) * (ranked.length - 3))],
  );
  return [ranked[0], ranked[1], ...rest];
}

/** A fixed pseudo-random order, which reveals nothing about the answer. @param {number} id */
export const scramble = (id) => Math.imul(id + 1, 2654435761) >>> 0;

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
  const ended = state.file === null ? end : null; // a saved trace has no dock
  return {
    opened: opened ? { name: opened, how: "covers" } : null,
    inspector: explained ? { name: explained, how: explained === opened ? "note" : "covers" } : null,
    dock: ended ? { name: ended, how: opened === ended ? "note" : "covers" } : null, // asked once, in the larger place
    next_token: end === "next" ? { name: end, how: "note" } : null,
    classes: end === "classes" ? { name: end, how: "note" } : null,
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
