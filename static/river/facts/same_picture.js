/** What the picture depends on: while none of it changes, nothing is drawn again. No DOM. */

import { position } from "../../model/selection.js";
import { sameValue } from "../../state/own.js";
import { isDeep, own } from "../own.js";
import { chosenRow } from "./chosen_token.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 */

/** The answers of the server, compared by identity, and the plain values behind a picture. @param {ModelTrace} trace @param {State} state */
function partsOf(trace, state) {
  const { explained, uncut, predictions, classes, attentions } = trace;
  const row = chosenRow(state, trace);
  const head = isDeep(state) ? [trace.attention.id, state.layer, state.head, position(state, trace).query] : null;
  return {
    answers: [
      explained.route,
      explained.lens,
      predictions[row],
      classes,
      uncut?.route,
      uncut?.predictions[row],
      head && trace.detail,
    ],
    values: [trace.key, attentions.length, row, state.theme, state.type, state.lang, own.of(state), head],
  };
}

/**
 * Whether two moments of a page have the same picture.
 * @param {{trace: ModelTrace, state: State}} was @param {{trace: ModelTrace, state: State}} now
 */
export function samePicture(was, now) {
  const [a, b] = [partsOf(was.trace, was.state), partsOf(now.trace, now.state)];
  return a.answers.every((answer, i) => answer === b.answers[i]) && sameValue(a.values, b.values);
}
