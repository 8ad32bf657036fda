/** What follows from the state and the trace together. */

/**
 * The chosen (query, key): what the state says, kept inside the trace; without a choice the last one of the sentence,
 * and the key that it looks at most in the open head.
 * @param {import("./state.js").State} state
 * @param {import("./data/model_trace.js").ModelTrace} trace
 * @returns {{query: number, key: number}}
 */
export function position(state, trace) {
  const last = trace.tokens.length - 1;
  const query = Math.min(state.query ?? trace.real.end - 1, last);
  const key = state.key === null ? strongestKey(trace, state.layer, state.head, query) : Math.min(state.key, last);
  return { query, key };
}

/** The key with the largest weight in a row; the earliest of equals. */
function strongestKey(trace, layer, head, query) {
  const detail = trace.detail;
  if (detail && detail.layer === layer && detail.head === head) return rowMaximum(detail.pattern, query);
  const { data, n_query, n_key } = trace.pattern(layer, head);
  return rowMaximum({ data, shape: [n_query, n_key] }, query);
}

function rowMaximum({ data, shape }, query) {
  const row = data.subarray(query * shape[1], (query + 1) * shape[1]);
  let best = 0;
  for (let key = 1; key < row.length; key++) if (row[key] > row[best]) best = key;
  return best;
}

/** Whether the state shows no text at all: the page teaches instead. @param {import("./state.js").State} state */
export function isEmpty(state) {
  return state.file === null && state.ids === null && state.text === "";
}
