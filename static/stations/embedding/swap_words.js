/** The effect of a swap in words: what the numbers show, and why. */

import { writesTarget } from "../../model/description.js";
import { tokenName } from "../../model/labels.js";
import { h } from "../../ui/dom.js";
import { percent, power, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/** Smaller changes are float32 rounding, as in model/explain/swaps.py. */
export const TOLERANCE = 1e-4;

/** Roles of an attention with positions built in: distances, a rotation, a bias; WKV's weights decay. */
const KNOWS_POSITIONS = ["relative_scores", "q_rotated", "position_bias", "relative_bias", "alibi"];

/** @param {any} model  Whether its attention has positions built in, besides those that are added to the embeddings. */
export const attentionKnowsPositions = (model) =>
  model.description.attentions.some(
    (one) => "decay" in one.parameters || KNOWS_POSITIONS.some((role) => role in one.roles),
  );

/** Whether anything but the order has changed. @param {any} trace @param {any} run */
export function verdictOf(trace, { positions, largest, order_only: orderOnly, stacks }) {
  const largestText = largest < 1e-3 ? power(largest) : significant(largest, 3);
  if (orderOnly) return [h("b", null, t("embedding.order_only")), " ", t("embedding.order_gap", { gap: largestText })];
  const changed = [h("b", null, t("embedding.changed", { largest: largestText }))];
  if (positions) return changed;
  const causal = trace.causal && !writesTarget(trace.model);
  const still = stacks[0].change[0].map((_, at) => stacks[0].change.every((depth) => depth[at] <= TOLERANCE));
  const { start, end } = trace.sides.source.real;
  const n = still.slice(start, end).filter(Boolean).length;
  return [
    ...changed,
    " ",
    t(attentionKnowsPositions(trace.model) ? "embedding.still_attention" : whyStill(causal)),
    causal && n > 0 ? [" ", t("embedding.untouched", { n })] : null,
  ];
}

/** @param {boolean} causal */
const whyStill = (causal) => (causal ? "embedding.still_causal" : "embedding.still_other");

/** How far the predictions moved. @param {any} trace @param {any} run */
export function movedWords(trace, { rows, prediction }) {
  const most = prediction.reduce((best, one, i) => (one > prediction[best] ? i : best), 0);
  const share = prediction[most] < 1e-4 ? power(prediction[most]) : percent(prediction[most]);
  if (trace.classes) return t("embedding.moved_class", { share });
  const { tokens } = trace.written ?? trace.sides.source;
  return t("embedding.moved", { share, token: tokenName(tokens[rows[most]]), row: rows[most] });
}
