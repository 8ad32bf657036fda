/** The ids that a model writes: what a generation continues (the sentence, or an encoder-decoder's target), and what fills a mask. Pure. */

import { offsetOf } from "./compare/runs.js";
import { attentionOf, writesTarget } from "./description.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { Side } from "./sides.js"
 */

// Fill-mask: which token is hidden, and the text with another token in its place.

/** The first hidden token; −1 without one. @param {any} model @param {Side} side */
export const maskedRow = ({ special }, { tokens }) => tokens.findIndex(({ id }) => id === special.mask);

/** Whether there is a token of the text at `row`: neither a PAD nor [CLS]. @param {ModelTrace} trace @param {number} row */
export function canHide({ model, queries: { tokens, real } }, row) {
  return row >= real.start && row < real.end && tokens[row].id !== model.special.first?.id;
}

/**
 * The change that puts token `id` at `row`: the mask hides the token there, any other fills the gap.
 * @param {ModelTrace} trace @param {number} row @param {number} id @returns {Partial<State>}
 */
export function filled({ model, queries: { tokens, real } }, row, id) {
  const ids = tokens.map((token, at) => (at === row ? id : token.id)).slice(real.start, real.end);
  const own = ids[0] === model.special.first?.id ? ids.slice(1) : ids; // [CLS] is added again
  return { ids: own, nPrompt: null, query: row, key: null };
}

/** @param {any} model @returns {"source"|"target"} */
export const writingSide = (model) => (writesTarget(model) ? "target" : "source");

/**
 * Whether the page's query is a row of the side that generation extends: not while a head of the encoder is open.
 * @param {State} state @param {any} model
 */
export function followsQuery(state, model) {
  return attentionOf(model, state.attention).queries === writingSide(model);
}

/**
 * The position, among the queries, of the token at `index` of what is written.
 * @param {State} state @param {any} model @param {number} index
 */
export const queryAt = (state, model, index) => index + offsetOf(state, writingSide(model));

/**
 * The change that shows these ids, with the last of them as the query.
 * @param {State} state @param {any} model @param {number[]} ids @param {number} nPrompt @returns {Partial<State>}
 */
export function showingIds(state, model, ids, nPrompt) {
  const chosen = followsQuery(state, model) ? { query: queryAt(state, model, ids.length - 1), key: null } : {};
  return writesTarget(model) ? { target: null, targetIds: ids, ...chosen } : { ids, nPrompt, ...chosen };
}

/**
 * The ids of a hypothesis that a decoder reads: END is predicted by the last row, and never read.
 * @param {{id: number}[]} tokens @param {number|null} end
 */
export const writtenIds = (tokens, end) =>
  tokens.map(({ id }) => id).filter((id, i) => i < tokens.length - 1 || id !== end);

// Choosing a token by hand.

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
  return showingIds(state, model, [...before, id], nPrompt);
}
