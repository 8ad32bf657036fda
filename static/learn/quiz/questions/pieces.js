/** What questions are made of. */

import { h } from "../../../ui/dom.js";

/**
 * @typedef {{right: number, says: (Node|string)[]}} Verdict  which option was right, and why, with the real numbers
 * @typedef {Object} Question
 * @property {string} key  the same key, the same question
 * @property {(Node|string)[]} asks
 * @property {(Node|string|(Node|string)[])[]} options
 * @property {(choice: number|null) => Verdict|Promise<Verdict>} judge  null: shown without a guess
 * @property {{words: string, patch: Partial<import("../../../state/store.js").State>}} [more]  where to see it
 * @typedef {(trace: import("../../../data/model_trace.js").ModelTrace, state: import("../../../state/store.js").State,
 *   actions: import("../../../stations/index.js").Actions) => Question|null|undefined} Ask  undefined: what it needs is not here yet;
 *   null: there is nothing to guess
 */

/** @param {string} text */
export const figure = (text) => h("b", { class: "mono nowrap" }, text);

/**
 * A ranking without items so close to its first that no reader could tell: a guess must have a chance.
 * @template T @param {T[]} ranked @param {(one: T) => number} value @param {number} gap
 */
export const tellable = ([first, ...rest], value, gap) =>
  first ? [first, ...rest.filter((one) => value(first) - value(one) >= gap)] : [];

/**
 * At most `count` of a ranking: the first, the second, and others spread over the rest.
 * @template T @param {T[]} ranked @param {number} [count] @returns {T[]}
 */
export function spread(ranked, count = 4) {
  if (ranked.length <= count) return ranked;
  const rest = Array.from(
    { length: count - 2 },
    (_, i) => ranked[2 + Math.round(((i + 1) / (count - 2)) * (ranked.length - 3))],
  );
  return [ranked[0], ranked[1], ...rest];
}

/** An order that gives nothing away and is the same each time. @param {number} id */
export const scramble = (id) => Math.imul(id + 1, 2654435761) >>> 0;
