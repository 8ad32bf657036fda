/** What the embedding station shows besides the sum, and which tokens it requests. No DOM. */

import { position } from "../model/selection.js";
import { choice, index, pair } from "../state/fields.js";
import { viewState } from "../state/view_state.js";

/**
 * @import { State } from "../state/store.js"
 * @import { ModelTrace } from "./model_trace.js"
 */

/** `length`: of the table of positions, null: the trained window; `neighbour`: [chosen token, the one reached from it]. */
export const embeddingState = viewState("embedding", {
  tab: choice("sum", "positions", "swap", "neighbours"),
  length: index(null),
  neighbour: pair(),
  swap: { ...pair(), until: "sentence" },
});

/** The token of the open query. @param {State} state @param {ModelTrace} trace */
export const chosenToken = (state, trace) => trace.queries.tokens[position(state, trace).query];

/**
 * The token whose neighbours are shown: the chosen one, or the one that was reached from it.
 * @param {State} state @param {ModelTrace} trace
 */
export function lookedUp(state, trace) {
  const { id } = chosenToken(state, trace);
  const [from, to] = embeddingState.of(state).neighbour ?? [];
  return from === id && to !== undefined && to < trace.model.vocab_size ? to : id;
}

/**
 * The two positions to swap: the chosen ones, or else the first two neighbours that differ; null if all tokens are
 * equal.
 * @param {State} state @param {ModelTrace} trace
 * @returns {{i: number, j: number}|null}
 */
export function swapOf(state, trace) {
  const { swap } = embeddingState.of(state);
  const { tokens, real } = trace.sides.source;
  const first = movable(trace);
  /** @param {number} at */
  const inside = (at) => at >= first && at < real.end;
  /** @param {number} i @param {number} j */
  const differ = (i, j) => tokens[i].id !== tokens[j].id;
  if (swap?.every(inside) && differ(swap[0], swap[1])) return { i: swap[0], j: swap[1] };
  for (let i = first; i + 1 < real.end; i++) if (differ(i, i + 1)) return { i, j: i + 1 };
  return null;
}

/** The first token of the sentence that can move; [CLS] cannot. @param {ModelTrace} trace */
export const movable = ({ classes, sides: { source } }) => source.real.start + (classes ? 1 : 0);
