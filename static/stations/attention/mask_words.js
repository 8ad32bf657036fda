/** The text about what a mask does in the softmax. */

import { t } from "../../ui/i18n.js";

/** @import { Matrix } from "../../data/model_trace.js" */

/** Queries that may see nothing. @param {Matrix} mask @returns {number[]} */
export function blindRows({ data, shape: [nQuery, nKey] }) {
  const rows = Array.from({ length: nQuery }, (_, query) => query);
  return rows.filter((query) => data.subarray(query * nKey, (query + 1) * nKey).every(Boolean));
}

/** @param {number[]} rows  that may see nothing, at least one @param {Matrix|null} [pattern]  some models spread such a row evenly */
export function nothingWords(rows, pattern) {
  const spread = pattern && pattern.data[rows[0] * pattern.shape[1]] > 0;
  return t(spread ? "masks.spread" : "masks.nothing", { n: rows.length, rows: rows.join(t("compare.comma")) });
}
