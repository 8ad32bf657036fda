/** The token whose answer the river shows, and the answer. No DOM. */

import { answeringStack } from "../../model/description.js";
import { position, rowOf } from "../../model/selection.js";
import { sideOf } from "../../model/sides.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { SideName } from "../../model/description.js"
 * @import { Token } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 */

/**
 * @typedef {{id: number, p: number, token: Token|null, name: string|null}} Answer  a token, or a class by its name
 */

/** The chosen row of the stack that answers: of a classifier, the one that its answer is read from. @param {State} state @param {ModelTrace} trace */
export function chosenRow(state, trace) {
  if (trace.written) return rowOf(state, trace);
  const { real } = answeringSide(trace);
  return trace.classes ? real.start : position(state, trace).query;
}

/** @param {ModelTrace} trace */
export const answeringSide = ({ sides, model }) => sideOf(sides, answeringStack(model).side);

/**
 * The change that chooses a token of a stack; null where it has no answer of its own.
 * @param {ModelTrace} trace @param {SideName} side @param {number} row
 */
export function choosing({ written, attention, classes }, side, row) {
  if (classes || (written && side !== written.side)) return null;
  return attention.queries === side ? { query: row, key: null } : { row };
}

/** The likeliest answers, first the model's choice. @param {Pick<ModelTrace, "classes"|"predictions">} trace @param {number} row @returns {Answer[]} */
export function answersOf({ classes, predictions }, row) {
  if (classes) {
    const named = classes.map(({ name, probability: p }, id) => ({ id, p, token: null, name }));
    return named.sort((a, b) => b.p - a.p);
  }
  const candidates = predictions[row]?.candidates ?? [];
  return candidates.map((/** @type {any} */ one) => ({ id: one.id, p: one.before, token: one, name: null }));
}
