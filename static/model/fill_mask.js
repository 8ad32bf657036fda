/** Gaps in a text, for a model that fills them: which token is hidden, and the text with another token in its place. Pure. */

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { Side } from "./sides.js"
 */

/** The first hidden token; −1 without one. @param {any} model @param {Side} side */
export const gapOf = ({ special }, { tokens }) => tokens.findIndex(({ id }) => id === special.mask);

/** Whether a token of the text stands at `row`: neither a PAD nor [CLS]. @param {ModelTrace} trace @param {number} row */
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
