/** The lens in words: that its last row is the model's own output, and where the final answers appear. */

import { tiesEmbeddings } from "../../../model/description.js";
import { h } from "../../../ui/dom.js";
import { power } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";

/** The lens comes in float64 out of float32 logits, the prediction likewise: they differ in their last digits. */
const TOLERANCE = 1e-6;

/** The last depth compared with the model's own output. @param {any} found @param {any} trace @param {number} at  of `found.rows` */
export function checkWords(found, trace, at) {
  const gap = trace.classes ? classGap(found, trace.classes) : tokenGap(found, trace.predictions[found.rows[at]], at);
  if (gap === null) return [];
  const key = gap === 0 ? "lens.equal" : gap <= TOLERANCE ? "lens.agrees" : "lens.differs";
  return [
    h(
      "span",
      {
        class: gap <= TOLERANCE ? "check" : "check bad",
        title: t("lens.tolerance"),
        dataset: { testid: "lens-gap", gap },
      },
      t(key, { gap: power(gap), row: found.rows[at] }),
    ),
  ];
}

function tokenGap({ top, probability }, prediction, at) {
  if (!prediction) return null; // the row of a PAD, which has no prediction
  const before = new Map(prediction.candidates.map((candidate) => [candidate.id, candidate.before]));
  const last = top.length - 1;
  const least = Math.min(...before.values()); // a token that is not listed has no more
  const gaps = probability[last][at].map((p, i) => Math.abs((before.get(top[last][at][i]) ?? Math.min(p, least)) - p));
  return Math.max(...gaps);
}

function classGap({ top, probability }, classes) {
  const last = top.length - 1;
  return Math.max(...top[last][0].map((id, i) => Math.abs(classes[id].probability - probability[last][0][i])));
}

/** What the tokens themselves do before the first layer: a model with tied embeddings predicts the tokens themselves. */
export function ownWords({ rows, top }, { written: { tokens }, model }) {
  const own = rows.filter((row, i) => top[0][i][0] === tokens[row].id).length;
  return own && tiesEmbeddings(model) ? t("lens.own", { own, n: rows.length }) : "";
}
