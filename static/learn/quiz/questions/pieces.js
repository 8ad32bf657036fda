/** The types and helpers of questions. */

import { h } from "../../../ui/dom.js";

/**
 * @import { ModelTrace } from "../../../data/model_trace.js"
 * @import { State } from "../../../state/store.js"
 * @import { Actions } from "../../../stations/view.js"
 */

/**
 * @typedef {{right: number, says: (Node|string)[]}} Verdict  which option was right, and why, with the real numbers
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
