/**
 * QKᵀ/√d_head, before the mask: how well each query matches each key. Always finite, also where the mask will forbid.
 */

import { legendOf, signedScale } from "../../chart/matrix/scale.js";
import { perRoot } from "../../ui/dom.js";
import { number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { buildStation, drawHead } from "../opened_head.js";
import { drawSquare, reasonOf } from "../query_key.js";
import * as formulas from "./formulas.js";

const partsOf = perRoot(buildStation);

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const { scores, mask, q } = trace.detail;
  const [rows, cols] = [trace.queries.tokens.length, trace.keys.tokens.length];
  const scale = signedScale(scores.data);
  const legend = legendOf(scale, { number: (value) => number(value, 2) });
  drawHead(parts, trace.model, state, {
    formula: [formulas.scores(q.shape[1])],
    note: t("matrix.scores_note", { rows, cols }),
    legend,
  });
  drawSquare(parts.body, trace, state, actions, {
    id: "scores",
    title: t("matrix.scores"),
    values: scores.data,
    scale,
    cellText: (value) => number(value, cols <= 10 ? 2 : 1),
    words(query, key) {
      const value = significant(scores.data[query * cols + key], 5);
      const reasons = mask.data[query * cols + key];
      if (!reasons) return ["matrix.score", { value }];
      return ["matrix.score_masked", { value, reason: reasonOf(reasons) }];
    },
  });
}
