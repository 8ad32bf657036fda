/** The weights of the open attention by token, or summed to characters or words. */

import { characterGroups, namesIn, visibleText } from "../../model/labels.js";
import { indexOfMost, rowIn } from "../../model/matrix.js";
import { memo } from "../../model/memo.js";
import { position } from "../../model/selection.js";
import { groupAt, mostlyBytes, sharesCharacters, summed, tokenGroups } from "../../model/token_groups.js";
import { COMES, standsForWritten } from "../../model/written.js";
import { queryNames } from "../query_key.js";
import { attentionState } from "../view_states.js";

/**
 * @import { Floats, ModelTrace } from "../../data/model_trace.js"
 * @import { Token } from "../../model/labels.js"
 * @import { Side } from "../../model/sides.js"
 * @import { Group, Unit } from "../../model/token_groups.js"
 * @import { State } from "../../state/store.js"
 */

/** @typedef {{groups: Group[], labels: string[]}} Grouped */

/** The same groups for the same tokens. @type {(tokens: Token[], unit: Unit) => Grouped} */
const groupedTokens = memo((tokens, unit) => {
  const groups = tokenGroups(tokens, unit);
  return { groups, labels: groups.map(({ label }) => label) };
});

/** Rows of a cross-attention by what they write, as everywhere (model/written.js). The same for the same tokens. @type {(tokens: Token[], unit: Unit) => Grouped} */
const groupedWritten = memo((tokens, unit) => {
  const last = tokens.length - 1;
  const written = groupedTokens(tokens, unit).groups.slice(1); // what START is in was not written
  const groups = [
    ...written.map(({ start, end, label }) => ({ start: start - 1, end: end - 1, label: `⇒ ${label}` })),
    { start: last, end: last + 1, label: `⇒ ${COMES}` },
  ];
  return { groups, labels: groups.map(({ label }) => label) };
});

/**
 * The unit that is shown. Characters are the same as tokens if no token splits one.
 * @param {ModelTrace} trace @param {State} state @returns {Unit}
 */
export function unitOf(trace, state) {
  const { queries, keys, model } = trace;
  if (model.picture) return "tokens"; // patches spell nothing
  const unit =
    attentionState.of(state).unit ?? (mostlyBytes([...queries.tokens, ...keys.tokens]) ? "characters" : "tokens");
  return unit === "characters" && !canSumCharacters(trace) ? "tokens" : unit;
}

/** @typedef {"all"|"aa"|"ab"|"ba"|"bb"} Part  of the matrix of a pair: all, or queries of one text and keys of one */

/** The part of a pair's matrix that is shown. @param {Pick<ModelTrace, "queries"|"keys">} trace @param {State} state @returns {Part} */
export const pairPartOf = ({ queries, keys }, state) =>
  queries.second === null || keys.second === null ? "all" : attentionState.of(state).part;

/** The groups of one of two texts; a group over both belongs to the first. @param {Grouped} all @param {Side} side @param {string} name  "a" or "b" @returns {Grouped} */
function ofText({ groups, labels }, { second }, name) {
  const kept = groups.flatMap(({ start }, i) =>
    start >= /** @type {number} */ (second) === (name === "b") ? [i] : [],
  );
  return { groups: kept.map((i) => groups[i]), labels: kept.map((i) => labels[i]) };
}

/**
 * The change that shows a part: what was chosen stays if the part has it, otherwise the first query and its strongest key.
 * @param {ModelTrace} trace @param {State} state @param {Part} part
 */
export function showPart(trace, state, part) {
  const shown = attentionState.patch({ part });
  if (part === "all") return shown;
  const { queries, keys, detail } = trace;
  /** @param {Side} side @param {string} name @returns {[number, number]} */
  const range = ({ tokens, second }, name) =>
    name === "a" ? [0, /** @type {number} */ (second)] : [/** @type {number} */ (second), tokens.length];
  const [[top, bottom], [left, right]] = [range(queries, part[0]), range(keys, part[1])];
  const { query, key } = position(state, trace);
  const row = query >= top && query < bottom ? query : Math.max(top, queries.real.start);
  if (row === query && key >= left && key < right) return { ...shown, query, key };
  const weights = rowIn(/** @type {Floats} */ (detail?.overview), row).subarray(left, right);
  return { ...shown, query: row, key: left + indexOfMost(weights) };
}

/** @param {ModelTrace} trace */
export function canSumCharacters({ queries, keys }) {
  return sharesCharacters(queries.tokens) || sharesCharacters(keys.tokens);
}

/**
 * Rows, columns, the chosen cell, and the function that turns a matrix over tokens into one over these.
 * @param {ModelTrace} trace @param {State} state
 */
export function unitCells(trace, state) {
  const unit = unitOf(trace, state);
  const grouped = standsForWritten(trace.attention) ? groupedWritten : groupedTokens;
  const tokens = unit === "tokens";
  const part = pairPartOf(trace, state);
  const all = {
    rows: { ...grouped(trace.queries.tokens, unit), ...(tokens && { labels: queryNames(trace) }) },
    cols: { ...groupedTokens(trace.keys.tokens, unit), ...(tokens && { labels: namesIn(trace.keys.tokens) }) },
  };
  const rows = part === "all" ? all.rows : ofText(all.rows, trace.queries, part[0]);
  const cols = part === "all" ? all.cols : ofText(all.cols, trace.keys, part[1]);
  const { query, key } = position(state, trace);
  const shape = /** @type {[number, number]} */ ([trace.queries.tokens.length, trace.keys.tokens.length]);
  const mask = /** @type {Uint8Array} */ (trace.detail?.mask.data);
  const forbidden = mask.some(Boolean) ? mask : null;
  /** @param {Float32Array} values */
  const cells = (values) =>
    tokens && part === "all"
      ? { values, shape, forbidden }
      : summed({ values, shape, forbidden }, rows.groups, cols.groups);
  // A group that already contains the choice keeps it; otherwise its last token, which can attend to the others under a
  // causal mask.
  /** @param {Group[]} groups @param {number} index @param {number} now */
  const tokenOf = (groups, index, now) => (groupAt(groups, now) === index ? now : groups[index].end - 1);
  return {
    unit,
    part,
    rows,
    cols,
    cells,
    chosen: { q: groupAt(rows.groups, query), k: groupAt(cols.groups, key) },
    choose: (/** @type {number} */ row, /** @type {number} */ col) => ({
      query: tokenOf(rows.groups, row, query),
      key: tokenOf(cols.groups, col, key),
    }),
    chooseQuery: (/** @type {number} */ row) => ({ query: tokenOf(rows.groups, row, query) }),
  };
}

/** Tokens that are parts of one character, by index. @param {Token[]} tokens */
export function sharedCharacters(tokens) {
  let end = 0;
  return characterGroups(tokens).flatMap(({ tokens: { length }, text }) => {
    end += length;
    return text === null ? [] : [{ start: end - length, end, text: visibleText(text) }];
  });
}
