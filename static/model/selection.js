/** Selections that follow from the state and the trace together. */

import { fillsMask, trainedCausal } from "./description.js";
import { indexOfMost, rowIn } from "./matrix.js";
import { maskedRow, tellingRow } from "./written.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { Side } from "./sides.js"
 */

/**
 * The chosen (query, key) of the open attention: the state's, clamped to the trace; by default the last query (in a
 * classifier, [CLS]; in a finished translation, the most telling) and the key that it attends to most in the open head.
 * @param {State} state
 * @param {ModelTrace} trace
 * @returns {{query: number, key: number}}
 */
export function position(state, trace) {
  const { queries, keys } = trace;
  const query = Math.min(state.query ?? defaultOf(trace, queries), queries.tokens.length - 1);
  const key =
    state.key === null
      ? strongestKey(trace, state.layer, state.head, query)
      : Math.min(state.key, keys.tokens.length - 1);
  return { query, key };
}

/**
 * The row whose next token is shown: the query if the open head's queries are on the side that generation extends,
 * otherwise the row that was chosen there, by default the last.
 * @param {State} state @param {ModelTrace} trace
 */
export function rowOf(state, trace) {
  const { written, queries } = trace;
  if (written === null || written === queries) return position(state, trace).query;
  return Math.min(state.row ?? defaultOf(trace, written), written.tokens.length - 1);
}

/** Of which run and row something is said. @param {ModelTrace} trace @param {State} state */
export const sourceKey = (trace, state) => `${trace.key} ${rowOf(state, trace)}`;

/** Of a translation that the model has finished, the most telling row; otherwise the last. @param {ModelTrace} trace @param {Side} side */
const defaultOf = (trace, side) =>
  (side.side === "target" && trace.targetFrom === "greedy" ? tellingRow(trace) : null) ?? lastOf(trace, side);

/** The last real token; of a finished target, the one before END; where every token sees all and none is written, [CLS]; of a text with a gap, the gap. @param {ModelTrace} trace @param {Side} row */
function lastOf({ model, written }, row) {
  const { side, tokens, real } = row;
  if (fillsMask(model)) return maskedRow(model, row) < 0 ? real.end - 1 : maskedRow(model, row);
  if (written === null && !trainedCausal(model)) return real.start;
  const ended = side === "target" && real.end > 1 && tokens[real.end - 1].id === model.special.end;
  return real.end - (ended ? 2 : 1);
}

/**
 * The key with the largest weight in a row; the earliest of equals.
 * @param {ModelTrace} trace @param {number} layer @param {number} head @param {number} query
 */
function strongestKey(trace, layer, head, query) {
  const detail = trace.detail;
  if (detail?.layer === layer && detail.head === head && detail.attention === trace.attention.id) {
    return detail.overview ? indexOfMost(rowIn(detail.overview, query)) : Math.min(query, trace.keys.tokens.length - 1);
  }
  // Until the other model's trace arrives, its head is looked up in this one.
  const row = trace.row(Math.min(layer, trace.nLayer - 1), Math.min(head, trace.nHead - 1), query);
  return row ? indexOfMost(row) : Math.min(query, trace.keys.tokens.length - 1); // an attention without an overview, or pooled
}

/**
 * The followed dimension of the open head: the state's, also where it was chosen among those of all heads; by default the first.
 * @param {Pick<State, "cell"|"head">} state @param {{d_head: number}} attention
 */
export function featureOf({ cell, head }, { d_head: width }) {
  const asked = cell?.[1] ?? 0;
  const own = Math.floor(asked / width) === head ? asked % width : asked;
  return own < width ? own : 0;
}

/** Whether the state has no text; the page then shows examples. @param {State} state */
export function isEmpty(state) {
  return state.file === null && state.ids === null && state.pixels === null && state.text === "";
}

/**
 * The selection of another text: what was chosen, as far as it is still there; otherwise null, the default. The last
 * token is not kept: another one is the last now.
 * @param {Pick<ModelTrace, "text"|"readText"|"queries"|"keys"|"written">|null} trace  of the text before
 * @param {Pick<State, "query"|"key"|"row">} state @param {string} text
 */
export function keptChoice(trace, { query, key, row }, text) {
  /** @param {number|null} index @param {Side} side */
  const kept = (index, side) => (trace && stays(trace, side, index, text) ? index : null);
  const same = trace === null ? null : kept(query, trace.queries);
  if (trace === null || same !== query) return { query: same, key: null, row: null };
  return { query, key: kept(key, trace.keys), row: trace.written ? kept(row, trace.written) : null };
}

/**
 * Whether a token ends before the texts differ. The one that ends just there may go on now, so it has changed.
 * @param {Pick<ModelTrace, "text"|"readText">} trace @param {Side} side @param {number|null} index @param {string} text
 */
function stays({ text: before, readText }, { side, tokens, real }, index, text) {
  if (index === null || side !== "source" || readText !== before) return false;
  const shared = sharedLength(Array.from(before), Array.from(text));
  return index < real.end - 1 && index >= real.start && tokens[index].end < shared;
}

/** The length of the common beginning of two lists. @param {ArrayLike<unknown>} a @param {ArrayLike<unknown>} b */
export function sharedLength(a, b) {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}
