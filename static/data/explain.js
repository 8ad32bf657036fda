/** What the page asks of /api/explain/…: each question's own fields, out of the state and the trace. No DOM. */

import { stackOf, stacksOf } from "../model/description.js";
import { position, rowOf } from "../model/selection.js";
import { requestOf } from "./request.js";

/** How many candidates the lens lists, how many units a token, how many neighbours. */
const [N_LENS, N_UNITS, N_NEIGHBOURS] = [5, 8, 12];

/**
 * null: here is nothing to ask, and the answer is null.
 * @type {Object<string, (state: import("../state/store.js").State, trace: import("./model_trace.js").ModelTrace) => object|null>}
 */
export const QUESTIONS = {
  lens: (state) => ({ ...requestOf(state), k: N_LENS }),
  contributions: answered,
  gradients: answered,
  heads: (state) => requestOf(state),
  units: (state) => ({ ...requestOf(state), k: N_UNITS }),
  residual: (state) => requestOf(state),
  swap(state, trace) {
    const pair = swapOf(state, trace);
    return pair && { ...requestOf(state), ...pair };
  },
  neighbours: (state, trace) => ({ model: state.model, token_id: lookedUp(state, trace), k: N_NEIGHBOURS }),
  positions({ model, step }, { attention, model: about }) {
    const { id, embedding } = stackOf(about, attention);
    const longer = 2 * about.description.max_seq_len;
    const asked = embedding.positions === "sinusoidal" && numbersAfter("positions", step)[0] === longer;
    return { model, prefix: stacksOf(about).length > 1 ? id : null, length: asked ? longer : null };
  },
  parameters: ({ model }) => ({ model }),
};

/** The token of the open query. @param {import("../state/store.js").State} state @param {import("./model_trace.js").ModelTrace} trace */
export const chosenToken = (state, trace) => trace.queries.tokens[position(state, trace).query];

/** One answer: that of the chosen row, or a classifier's only one. A PAD has none. */
function answered(state, trace) {
  const { written } = trace;
  const row = written === null ? null : rowOf(state, trace);
  if (row !== null && (row < written.real.start || row >= written.real.end)) return null;
  return { ...requestOf(state), answer: state.answer, row };
}

/** What stands behind a word in the step: "positions.256" → [256]. @param {string} word @param {string|null} step @returns {number[]} */
export function numbersAfter(word, step) {
  const [first, ...rest] = (step ?? "").split(".");
  return first === word && rest.every((one) => /^\d{1,9}$/.test(one)) ? rest.map(Number) : [];
}

/**
 * The token whose neighbours are shown: the chosen one, or the one that was reached from it ("neighbours.<chosen>.<reached>").
 * @param {import("../state/store.js").State} state @param {import("./model_trace.js").ModelTrace} trace
 */
export function lookedUp(state, trace) {
  const { id } = chosenToken(state, trace);
  const [from, to] = numbersAfter("neighbours", state.step);
  return from === id && to < trace.model.vocab_size ? to : id;
}

/**
 * The two places of the sentence that change places: those chosen, else the first two neighbours that differ; null where
 * there are no two tokens that differ.
 * @param {import("../state/store.js").State} state @param {import("./model_trace.js").ModelTrace} trace
 * @returns {{i: number, j: number}|null}
 */
export function swapOf({ swap }, trace) {
  const { tokens, real } = trace.sides.source;
  const first = movable(trace);
  const inside = (at) => at >= first && at < real.end;
  const differ = (i, j) => tokens[i].id !== tokens[j].id;
  if (swap && swap.every(inside) && differ(swap[0], swap[1])) return { i: swap[0], j: swap[1] };
  for (let i = first; i + 1 < real.end; i++) if (differ(i, i + 1)) return { i, j: i + 1 };
  return null;
}

/** The first token of the sentence that can be moved: [CLS] stays where it is. @param {import("./model_trace.js").ModelTrace} trace */
export const movable = ({ classes, sides: { source } }) => source.real.start + (classes ? 1 : 0);
