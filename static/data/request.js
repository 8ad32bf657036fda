/** How a state is asked for. No DOM. */

/** The part of a request that says what is traced. @param {import("../state/store.js").State} state */
export function requestOf({ model, text, ids, target, targetIds, causal, padCount, padSide, padMask, padFollow }) {
  const written = targetIds ? { target_ids: targetIds } : target !== null ? { target } : {};
  const sentence = { model, ...(ids ? { token_ids: ids } : { text }), ...written };
  if (!padCount) return { ...sentence, masks: { causal, padding: true } }; // without PADs their switches mean nothing
  const pad = { count: padCount, side: padSide, follow: padFollow };
  return { ...sentence, masks: { causal, padding: padMask }, pad };
}

/** The name of what `state` shows: a trace of it has this key. @param {import("../state/store.js").State} state */
export const keyOf = (state) => state.file ?? JSON.stringify(requestOf(state));
