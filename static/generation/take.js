/** Taking a token by hand. */

/**
 * The change that puts token `id` behind `position`: what stood there and after it is left (and kept as a branch).
 * A token taken inside the sentence ends the prompt there.
 * @param {import("../data/model_trace.js").ModelTrace} trace
 * @param {import("../state.js").State} state
 * @param {number} position @param {number} id
 * @returns {Partial<import("../state.js").State>}
 */
export function taken(trace, state, position, id) {
  const { start, end } = trace.real; // PADs are no part of the text
  const before = trace.tokens.slice(start, Math.min(position + 1, end)).map((token) => token.id);
  const nPrompt = Math.min(state.nPrompt ?? end - start, before.length);
  return { ids: [...before, id], nPrompt, query: start + before.length, key: null };
}
