/** The text about what a mask does in the softmax. */

import { t } from "../../ui/i18n.js";

/** Queries that may see nothing. @param {import("../../data/model_trace.js").Matrix} mask @returns {number[]} */
export function blindRows({ data, shape: [nQuery, nKey] }) {
  const rows = Array.from({ length: nQuery }, (_, query) => query);
  return rows.filter((query) => data.subarray(query * nKey, (query + 1) * nKey).every(Boolean));
}

/** @param {number[]} rows  that may see nothing, at least one */
export function nothingWords(rows) {
  return t("masks.nothing", { n: rows.length, rows: rows.join(t("compare.comma")) });
}
