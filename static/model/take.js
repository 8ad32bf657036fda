/** Choosing a token by hand. */

import { shown } from "./written.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { Side } from "./sides.js"
 */

/**
 * The patch that puts token `id` after `position`. The previous continuation is kept as a branch. A token taken inside
 * the sentence ends the prompt there.
 * @param {ModelTrace} trace
 * @param {State} state
 * @param {number} position @param {number} id
 * @returns {Partial<State>}
 */
export function taken({ model, written }, state, position, id) {
  const {
    tokens,
    real: { start, end },
  } = /** @type {Side} */ (written);
  const before = tokens.slice(start, Math.min(position + 1, end)).map((token) => token.id); // PADs are not part of the text
  const nPrompt = Math.min(state.nPrompt ?? end - start, before.length);
  return shown(state, model, [...before, id], nPrompt);
}
