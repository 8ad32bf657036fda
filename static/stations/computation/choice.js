/**
 * Which element of a result is chosen, which tokens of the page it stands for, and its name. No DOM except its
 * texts.
 */

import { largest, rowIn } from "../../model/matrix.js";
import { chosenUnit } from "../../model/units.js";
import { h } from "../../ui/dom.js";
import { phrase } from "../../ui/i18n.js";

/** Whether the columns of a step's result are FFN units. */
const hasUnits = ({ kind }) => ["w1", "relu"].includes(kind);

/**
 * The chosen token's row, and its key, answer, FFN unit or last chosen column, or else the column furthest from 0. If
 * the matrix has the columns of all heads, it is one of the open head.
 * @param {import("./context.js").Context} context @param {import("./product.js").Picture} picture
 * @param {import("../../state/store.js").State} state @returns {[number, number]}  column −1: the chosen answer is not among these
 */
export function chosenCell({ query, key, answer, step }, { result: { matrix, band }, rows, cols, ids = [] }, state) {
  const row = rows === "query" ? query : rows === "key" ? key : 0;
  if (cols === "key") return [row, key];
  if (cols === "answer") return [row, answer === null ? 0 : ids.indexOf(answer)];
  const values = rowIn(matrix, row);
  if (hasUnits(step)) return [row, chosenUnit(state, values)];
  const [from, to] = band ?? [0, matrix.shape[1]]; // the open head's columns, if the matrix has all heads
  const col = state.cell?.[1] ?? -1;
  return [row, col >= from && col < to ? col : from + largest(values.slice(from, to))];
}

/** A column of another head opens that head. @param {number} col @param {[number, number]} [band]  the open head's columns */
const headAt = (col, [from, to] = [0, Infinity]) =>
  col >= from && col < to ? {} : { head: Math.floor(col / (to - from)) };

/** The change of the state that chooses this element. @param {import("./context.js").Context} context @param {import("./product.js").Picture} picture
 * @param {[number, number]} cell @returns {Partial<import("../../state/store.js").State>}
 */
export function choiceOf({ step }, { rows, cols, ids = [], result }, [row, col]) {
  const token = rows === "query" ? { query: row } : rows === "key" ? { key: row } : {};
  const other = { key: { key: col }, answer: { answer: ids[col] }, feature: {} }[cols];
  const unit = hasUnits(step) ? { ffnUnit: col } : {};
  return { cell: [row, col], ...token, ...other, ...unit, ...headAt(col, result.band) };
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
  const kind = hasUnits(step) ? "unit" : cols;
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
