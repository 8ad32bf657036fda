/** A padded run beside the single run that it should equal. */

import { inside, largestDifference, largestGap, logSoftmax } from "../compare/measure.js";
import { whyDifferent } from "../compare/words.js";
import { power } from "../lib/format.js";
import { t } from "../lib/i18n.js";
import { position } from "../selectors.js";

/** float32 in another order of summation: nothing more may differ. */
const ROUNDING = 1e-5;

/**
 * @param {import("../data/model_trace.js").ModelTrace} trace @param {import("../state.js").State} state
 * @returns {{text: string, equal: boolean, weights: number, next: number|null}|null} null: no PADs, nothing to compare
 */
export function verdictOf(trace, state) {
  const { alone, after } = trace.change;
  if (!alone) return null;
  const size = alone.detail.pattern.shape[0];
  const square = (detail, count, real) => ({ data: detail.pattern.data, size: count, real });
  const padded = square(trace.detail, trace.tokens.length, trace.real);
  const weights = largestDifference(square(alone.detail, size, { start: 0, end: size }), padded);
  const next = nextGap(trace, alone.logits, after.logits, position(state, trace).query);
  const equal = Math.max(weights, next ?? 0) <= ROUNDING;
  const vars = { gap: power(weights), next: next === null ? "" : power(next), why: equal ? "" : whyDifferent(state) };
  const key = `compare.${equal ? "equal" : "differs"}${next === null ? "" : "_next"}`;
  return { text: t(key, vars), equal, weights, next };
}

/** The largest difference between the probabilities after the chosen position; null in the row of a PAD. */
function nextGap({ real, model }, alone, padded, query) {
  if (!inside(real, query)) return null;
  const row = ({ data, shape }, at) => logSoftmax(data.subarray(at * shape[1], (at + 1) * shape[1]), model.pad_id);
  return largestGap(row(alone, query - real.start), row(padded, query));
}
