/** What changed for one query, in one sentence. */

import { ABSENT } from "../../model/compare/align.js";
import { inside, leakOfRow } from "../../model/compare/measure.js";
import { openSquare } from "../../model/compare/square.js";
import { indexOfMost } from "../../model/matrix.js";
import { namesOf, nameText } from "../../model/numbered_names.js";
import { h } from "../../ui/dom.js";
import { percent, power, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";

/** @import { ModelTrace } from "../../data/model_trace.js" */

/** Less than this is rounding. */
const ROUNDING = 1e-6;

/**
 * @param {any} before  laid over `after` @param {any} after
 * @param {ModelTrace} trace @param {number} query
 * @returns {(Node|string)[]}
 */
export function rowChange(before, after, trace, query) {
  const size = trace.keys.tokens.length;
  const token = (key) => h("b", { class: "k mono" }, nameText(namesOf(trace.keys.tokens)[key]));
  const parts = { query: h("b", { class: "q mono" }, nameText(namesOf(trace.queries.tokens)[query])) };
  if (!inside(trace.queries.real, query)) return phrase("compare.pad_row", parts);
  const row = ({ data }) => data.subarray(query * size, (query + 1) * size);
  const [from, to, reasons] = [row(before.overview), row(after.overview), row(before.mask)];
  const gained = to.map((weight, key) => weight - from[key]);
  const most = Math.abs(gained[indexOfMost(gained.map(Math.abs))]);
  if (most < ROUNDING) return phrase("compare.row_same", { ...parts, gap: value(power(most)) });
  const [winner, loser] = [indexOfMost(gained), indexOfMost(gained.map((gain) => -gain))];
  const was = (key) => value(reasons[key] ? lackOf(reasons[key]) : significant(from[key]));
  const rise = { winner: token(winner), had: was(winner), has: value(significant(to[winner])) };
  const fall = { loser: token(loser), was: was(loser), is: value(significant(to[loser])) };
  const { future, pad } = leakOfRow(openSquare(trace, after), query);
  const all = { ...parts, ...rise, ...fall, future: value(percent(future)), pad: value(percent(pad)) };
  const isFree = row(after.mask).every((reason, key) => reason === reasons[key]); // the same keys as before
  if (future + pad === 0) return phrase(isFree ? "compare.row_below" : "compare.row_moved", all);
  if (future > 0 && pad > 0) return phrase("compare.row_leak", all);
  return phrase(pad > 0 ? "compare.row_pad" : "compare.row_later", { ...all, leak: all.future });
}

/** The text for a missing weight: forbidden by a mask, or no PAD in the run. @param {number} reasons */
export function lackOf(reasons) {
  return t(reasons === ABSENT ? "compare.not_there" : "matrix.forbidden_word");
}

function value(text) {
  return h("b", { class: "mono" }, text);
}
