/** The weights of one feature: e^(w + k) over the allowed keys, normalised (Zhai et al. 2021, equation 2). */

import { partsOf } from "../../model/feature_parts.js";
import { featureTerms, positionPart, sliceOf } from "../../model/feature_weights.js";
import { headOf } from "../../model/identities.js";
import { cellIn, columnsIn } from "../../model/matrix.js";
import { t } from "../../ui/i18n.js";
import { mi, mn, sub } from "../../ui/mathml.js";
import { weightsFormula } from "../feature_formulas.js";
import { once } from "./matrices.js";
import { stacked } from "./product.js";
import { shareOf } from "./softmax.js";
import { tapIn } from "./taps.js";

/** @import { Arithmetic } from "./product.js" */

/** What position adds, for every query and key. */
function positionMatrix(trace, parts, feature) {
  const [nQuery, nKey] = trace.detail.mask.shape;
  return once(trace.detail.mask, `position ${trace.detail.layer} ${feature}`, () => ({
    shape: [nQuery, nKey],
    data: Float32Array.from({ length: nQuery * nKey }, (_, at) =>
      positionPart(parts, Math.floor(at / nKey), at % nKey, feature),
    ),
  }));
}

export const feature = {
  formula: ({ attention }) => weightsFormula(attention),
  note: () => t("feature.choose_walk"),
  picture({ trace, step, head, feature: f, queries, keys }) {
    const parts = partsOf(trace);
    const own = headOf(trace.tensor(tapIn(step, "weights")), head, step.attention.n_head);
    const square = { whose: "query", rows: queries, cols: keys, forbidden: trace.detail.mask.data };
    const placed = parts.bias || parts.decay;
    const mats = [
      {
        id: "k",
        op: "",
        name: () => sub(mi("k", "k"), mn(f)),
        matrix: columnsIn(parts.k, [f]),
        role: "k",
        whose: "key",
        rows: keys,
        lit: (_, key) => ({ row: key, col: 0 }),
      },
      placed && {
        ...square,
        id: "w",
        op: "+",
        name: () => mi("w"),
        matrix: positionMatrix(trace, parts, f),
        lit: (row, col) => ({ row, col }),
      },
      {
        ...square,
        id: "c",
        op: "softmax →",
        name: () => sub(mi("a"), mn(f)),
        matrix: once(own, `feature ${f}`, () => sliceOf(own, f)),
        ramp: "weights",
        lit: (row, col) => ({ row, col }),
      },
    ].filter(Boolean);
    return stacked(mats, { cols: "key" });
  },
  /** @returns {Arithmetic} */
  explain({ trace, step, feature: f, keys }, { result }, query, key) {
    const { k, position, logits } = featureTerms(partsOf(trace), query, key, f);
    const share = shareOf(logits, key, (j) => `${keys[j]} ${j}`);
    /** @type {Arithmetic["lines"]} */
    const made = [
      ["computation.line.key", { feature: f }, k],
      ["computation.line.adds", {}, position],
    ];
    return {
      ...share,
      lines: [...made, ...share.lines],
      own: cellIn(result.matrix, query, key),
      tap: tapIn(step, "weights"),
    };
  },
};
