/** Which element of a result is chosen, what choosing one says about the page's tokens, and what it is called. No DOM but its words. */

import { largest, rowIn } from "../../model/matrix.js";
import { h } from "../../ui/dom.js";
import { phrase } from "../../ui/i18n.js";

/**
 * The chosen token's row; its key, its answer, or the column that was chosen last, else the one furthest from 0.
 * @param {import("./context.js").Context} context @param {import("./product.js").Picture} picture
 * @param {import("../../state/store.js").State} state @returns {[number, number]}  column −1: the answer that is asked about is none of these
 */
export function chosenCell({ query, key, answer }, { result: { matrix }, rows, cols, ids = [] }, { cell }) {
  const row = rows === "query" ? query : rows === "key" ? key : 0;
  if (cols === "key") return [row, key];
  if (cols === "answer") return [row, answer === null ? 0 : ids.indexOf(answer)];
  const col = cell?.[1] ?? Infinity;
  return [row, col < matrix.shape[1] ? col : largest(rowIn(matrix, row))];
}

/** What the state then says. @param {[number, number]} cell @returns {Partial<import("../../state/store.js").State>} */
export function choiceOf({ step }, { rows, cols, ids = [] }, [row, col]) {
  const token = rows === "query" ? { query: row } : rows === "key" ? { key: row } : {};
  const other = { key: { key: col }, answer: { answer: ids[col] }, feature: {} }[cols];
  const unit = ["w1", "relu"].includes(step.kind) ? { ffnUnit: col } : {};
  return { cell: [row, col], ...token, ...other, ...unit };
}

/** "of ·fox 3, feature 17". @returns {(Node|string)[]} */
export function whereOf({ queries, keys, step }, { rows, cols, result }, row, col) {
  const name = (label, index, role) =>
    h("span", null, h("b", { class: `${role} mono` }, label), index === null ? null : [" ", h("small", null, index)]);
  const token =
    rows === "query"
      ? name(queries[row], row, "q")
      : rows === "key"
        ? name(keys[row], row, "k")
        : name(result.rows?.[row] ?? "", null, "q");
  const kind = cols === "feature" && ["w1", "relu"].includes(step.kind) ? "unit" : cols;
  const column =
    cols === "key"
      ? name(keys[col], col, "k")
      : cols === "answer"
        ? h("b", { class: "mono" }, result.cols?.[col])
        : h("b", { class: "mono" }, col);
  return phrase(`computation.of_${kind === "answer" && rows === "row" && step.kind === "logits" ? "class" : kind}`, {
    token,
    column,
  });
}
