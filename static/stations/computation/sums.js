/** The two sums of AFT and of RWKV, element by element: their roles' general step, with the arithmetic. */

import { partsOf } from "../../model/feature_parts.js";
import { featureTerms } from "../../model/feature_weights.js";
import { cellIn, columnIn, products, sum } from "../../model/matrix.js";
import { role } from "./role.js";
import { roleOf } from "./steps.js";
import { tapIn } from "./taps.js";

/** @import { Arithmetic } from "./product.js" */

/**
 * e^(w + k) of each allowed key, divided by the largest of the row, times v where there is one.
 * @returns {Arithmetic}
 */
function explain({ trace, step, keys }, { result }, query, col) {
  const { exps } = featureTerms(partsOf(trace), query, query, col);
  const v = roleOf(step) === "numerator" ? columnIn(trace.detail.v, col) : null;
  const values = v ? products(exps, v) : exps;
  return {
    terms: { a: exps, b: v, values, label: (i) => `${keys[i]} ${i}` },
    lines: [],
    total: sum(values),
    own: cellIn(result.matrix, query, col),
    tap: tapIn(step, roleOf(step)),
  };
}

export const SUMS = {
  "role-numerator": { ...role, explain },
  "role-denominator": { ...role, explain },
};
