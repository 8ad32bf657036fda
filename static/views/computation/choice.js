/**
 * Which element of a result is chosen, which tokens of the page it stands for, and its name. No DOM except its
 * texts.
 */

import { chosenUnit } from "../../model/activations.js";
import { ACTIVATION_STEPS } from "../../model/description.js";
import { labelName } from "../../model/labels.js";
import { largest, rowIn } from "../../model/matrix.js";
import { h } from "../../ui/dom.js";
import { phrase } from "../../ui/i18n.js";

/**
 * @import { State } from "../../state/store.js"
 * @import { Context } from "./matrices.js"
 * @import { Picture } from "./product.js"
 * @import { Step } from "./steps.js"
 */

/** Whether the columns of a step's result are FFN units. @param {{kind: string}} step */
const hasUnits = ({ kind }) => ["w1", "up", ...ACTIVATION_STEPS].includes(kind);

/**
 * The chosen token's row, and its key, answer, FFN unit or last chosen column, or else the column furthest from 0. If
 * the matrix has the columns of all heads, it is one of the open head.
 * @param {Context} context @param {Picture} picture
 * @param {State} state @returns {[number, number]}  column −1: the chosen answer is not among these
 */
export function chosenCell(
  { query, key, head, answer, step },
  { result: { matrix, band }, rows, cols, ids = [] },
  state,
) {
  const row = rows === "query" ? query : rows === "key" ? key : 0;
  if (cols === "key") return [row, key];
  if (cols === "answer") return [row, answer === null ? 0 : ids.indexOf(answer)];
  const values = rowIn(matrix, row);
  if (hasUnits(step)) return [row, chosenUnit(state, values)];
  const [from, to] = band ?? [0, matrix.shape[1]]; // the open head's columns, if the matrix has all heads
  const col = inOpenHead(state.cell?.[1] ?? -1, from, to, head);
  return [row, col >= from && col < to ? col : from + largest(values.slice(from, to))];
}

/**
 * The followed dimension among these columns: dimension 1 of head 7 is column 1 of that head alone, and column 225 where 8 heads of
 * 32 are side by side.
 * @param {number} col @param {number} from @param {number} to @param {number} head  the open one
 */
function inOpenHead(col, from, to, head) {
  if (col >= 0 && col < to - from && from > 0) return from + col; // chosen in one head, shown among all
  const width = to - from;
  return from === 0 && col >= width && Math.floor(col / width) === head ? col % width : col;
}

/** The dimension that the next step follows: the shown column, if columns are dimensions. @param {Picture} picture @param {[number, number]} cell @param {Step} step
 * @returns {Partial<State>} */
export const followed = ({ cols }, cell, step) =>
  cols === "feature" && !hasUnits(step) && cell[1] >= 0 ? { cell } : {};

/** A column of another head opens that head; of keys that several share, the first of these. @param {number} col @param {number} shared @param {[number, number]} [band]  the open head's columns */
const headAt = (col, shared, [from, to] = [0, Infinity]) =>
  col >= from && col < to ? {} : { head: Math.floor(col / (to - from)) * shared };

/** How many query heads share a head of the step's result. @param {Step} step */
const sharing = ({ attention, kind }) =>
  attention?.roles[kind]?.dims.startsWith("kv_head") ? attention.n_head / attention.n_kv_head : 1;

/** The change of the state that chooses this element. @param {Context} context @param {Picture} picture
 * @param {[number, number]} cell @returns {Partial<State>}
 */
export function choiceOf({ step }, { rows, cols, ids = [], result }, [row, col]) {
  const token = rows === "query" ? { query: row } : rows === "key" ? { key: row } : {};
  const other = { key: { key: col }, answer: { answer: ids[col] }, feature: {} }[cols];
  const unit = hasUnits(step) ? { ffnUnit: col } : {};
  const cell = cols === "feature" && !hasUnits(step) ? { cell: /** @type {[number, number]} */ ([row, col]) } : {};
  return { ...cell, ...token, ...other, ...unit, ...headAt(col, sharing(step), result.band) };
}

/** The column of an answer, by its name. @param {Picture["result"]} result @param {number} col */
const answerIn = ({ cols }, col) => labelName(cols?.[col] ?? "");

/**
 * "red₂", "car": the row and the column of an element, as the page calls them; of a result with one row, its column alone.
 * @param {Context} context @param {Picture} picture @param {number} row @param {number} col @returns {string[]}
 */
export function elementIndex({ queries, keys }, { rows, cols, result }, row, col) {
  const column = cols === "key" ? keys[col] : cols === "answer" ? answerIn(result, col) : String(col);
  return rows === "row" ? [column] : [(rows === "query" ? queries : keys)[row], column];
}

/**
 * "of fox₂, column 17". [] where the element's index says as much: it is of a query and a key.
 * @param {Context} context @param {Picture} picture @param {number} row @param {number} col @returns {(Node|string)[]}
 */
export function elementName({ queries, keys, step }, { rows, cols, result }, row, col) {
  if (cols === "key") return [];
  const [name, role] =
    rows === "query" ? [queries[row], "q"] : rows === "key" ? [keys[row], "k"] : [result.rows?.[row] ?? "", "q"];
  const token = h("b", { class: role, translate: "no" }, name);
  const kind = hasUnits(step) ? "unit" : cols;
  const column = h("b", { class: "mono" }, cols === "answer" ? answerIn(result, col) : col);
  const isClass = kind === "answer" && rows === "row" && step.kind === "logits";
  return phrase(`computation.of_${isClass ? "class" : kind}`, { token, column });
}
