/** A padded run compared with the single run that it should equal. */

import { inside, largestDifference, largestGap, logSoftmax } from "../../model/compare/measure.js";
import { openSquare, squareOf } from "../../model/compare/square.js";
import { rowOf } from "../../model/selection.js";
import { whyDifferent } from "../../ui/compare_words.js";
import { power } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { Compared, ModelTrace } from "../../data/model_trace.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 */

/** Tolerance for float32 sums in another order. */
const ROUNDING = 1e-5;

/**
 * @param {ModelTrace} trace @param {State} state
 * @returns {{text: string, equal: boolean, weights: number, next: number|null}|null} null: without PADs there is
 * nothing to compare
 */
export function verdictOf(trace, state) {
  const { alone, after } = /** @type {Compared} */ (trace.compared);
  if (!alone) return null;
  const { attention, queries, keys } = trace;
  const single = squareOf(alone.detail.overview.data, attention, withoutPads(queries), withoutPads(keys));
  const weights = largestDifference(single, openSquare(trace, trace.detail));
  const next = nextGap(trace, alone.logits, after.logits, rowOf(state, trace));
  const equal = Math.max(weights, next ?? 0) <= ROUNDING;
  const vars = {
    gap: power(weights),
    next: next === null ? "" : power(next),
    why: equal ? "" : whyDifferent(state, trace.model),
  };
  const what = next === null ? "" : trace.written ? "_next" : "_classes";
  const key = `compare.${equal ? "equal" : "differs"}${what}`;
  return { text: t(key, vars), equal, weights, next };
}

/** A side as it is in the single run. @param {Side} side */
function withoutPads({ tokens, real, ...more }) {
  return { ...more, tokens: tokens.slice(real.start, real.end), real: { start: 0, end: real.end - real.start } };
}

/** The largest difference between the probabilities after the chosen position, or of the classes; null in a PAD’s row and where gaps are filled. */
function nextGap({ written, model, classes }, alone, padded, query) {
  if ((!written && !classes) || !alone || !padded) return null;
  if (!written) return largestGap(logSoftmax(alone.data, []), logSoftmax(padded.data, []));
  if (!inside(written.real, query)) return null;
  const row = ({ data, shape }, at) =>
    logSoftmax(data.subarray(at * shape[1], (at + 1) * shape[1]), model.never_sampled);
  return largestGap(row(alone, query - written.real.start), row(padded, query));
}
