/** The matrices of the open step, and the chosen element of the result. */

import { cellAfterKey, nearestCell } from "../../chart/matrix/view.js";
import { announce, heightsFor } from "../../chart/pictures.js";
import { currentTheme, typeScale } from "../../chart/theme.js";
import { shortLabel } from "../../model/labels.js";
import { setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { walkState } from "../view_states.js";
import { choiceOf, chosenCell, elementIndex, elementName } from "./choice.js";
import { kindOf } from "./kinds.js";
import { matricesLayout } from "./layout.js";
import { contextOf } from "./matrices.js";
import { cellPlace, drawMats, savedAs } from "./picture.js";
import { drawArithmetic, drawNoSum } from "./sum.js";

/**
 * @import { Cell } from "../../chart/matrix/view.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Kind } from "./kinds.js"
 * @import { Box } from "./layout.js"
 * @import { Context } from "./matrices.js"
 * @import { Drawn } from "./picture.js"
 * @import { Mat, Picture } from "./product.js"
 * @import { SumParts } from "./sum.js"
 */

// The inputs of one element of the result, highlighted in every matrix, with their names next to them.

/**
 * None for column −1. @param {Drawn[]} drawn @param {number} row @param {number} col
 */
function light(drawn, row, col) {
  const middles = drawn.map((one) => {
    const { mat, box, lit, rowName, colName } = one;
    const at = col < 0 ? {} : mat.lit(row, col);
    const inside = at.row === undefined ? null : at.row - box.from;
    const [rows, cols] = [box.count, mat.matrix.shape[1]];
    lit.hidden = (at.row === undefined && at.col === undefined) || (inside !== null && (inside < 0 || inside >= rows));
    const [top, height] = inside === null ? [0, box.height] : [inside * box.step, box.step];
    const unit = box.width / cols;
    const [left, width] = at.col === undefined ? [0, box.width] : [at.col * unit, unit];
    Object.assign(lit.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    nameRow(rowName, mat, box, inside, at.row);
    if (colName) colName.textContent = nameOfCol(mat, at.col);
    return left + width / 2;
  });
  const widths = drawn.map(({ colName }) => colName?.offsetWidth ?? 0); // all read at once: the browser lays out once
  drawn.forEach(({ box, colName }, i) => {
    if (colName) colName.style.left = `${within(middles[i], widths[i] / 2, box.width)}px`;
  });
}

/**
 * @param {HTMLElement|null} element
 * @param {Mat} mat @param {Box} box @param {number|null} inside @param {number|undefined} row
 */
function nameRow(element, { rows, whose }, box, inside, row) {
  if (!element) return;
  const alone = box.count === 1 ? box.from : undefined;
  const known = inside === null ? alone : row;
  element.hidden = known === undefined;
  if (known === undefined) return;
  element.textContent = shortLabel(rows?.[known] ?? "", 11);
  element.className = `row-name ${whose === "key" ? "k" : "q"}`;
  element.style.top = `${((inside ?? 0) + 0.5) * box.step}px`;
}

/** @param {Mat} mat @param {number|undefined} col */
const nameOfCol = ({ cols }, col) => (cols ? shortLabel(cols[col ?? -1] ?? "", 14) : String(col));

/** The middle of a name, moved so that the name does not overflow. @param {number} middle @param {number} half @param {number} width  all in pixels */
const within = (middle, half, width) =>
  width > 2 * half ? Math.max(half, Math.min(middle, width - half)) : Math.max(half, middle);

// The elements of the result under the pointer and under the keyboard.

/**
 * @param {Drawn} drawn  the result
 * @param {{label: string, describedBy: string, at: () => [number, number], rows: number, onHover: (cell: [number, number]|null) => void, onChoose: (cell: [number, number]) => void}} options
 */
function followCells({ frame, box, mat }, { label, describedBy, at, rows, onHover, onChoose }) {
  const under = (/** @type {PointerEvent|MouseEvent} */ { clientX, clientY }) => {
    const { left, top } = frame.getBoundingClientRect();
    return pair(nearestCell({ x: clientX - left, y: clientY - top }, cellPlace(mat, box)));
  };
  frame.tabIndex = 0;
  frame.setAttribute("role", "application");
  frame.setAttribute("aria-label", label);
  frame.setAttribute("aria-describedby", describedBy);
  frame.addEventListener("pointermove", (event) => event.pointerType !== "touch" && onHover(under(event)));
  frame.addEventListener("pointerleave", () => onHover(null));
  frame.addEventListener("click", (event) => onChoose(under(event)));
  frame.addEventListener("keydown", (event) => {
    const [row, col] = at();
    const to = cellAfterKey(event, { row, col }, [rows, mat.matrix.shape[1]]);
    if (!to) return;
    event.preventDefault();
    event.stopPropagation(); // elsewhere the same keys step through the walk
    onChoose(pair(to));
  });
}

/** @param {Cell} cell @returns {[number, number]} */
const pair = ({ row, col }) => [row, col];

/**
 * @typedef {{made: string, picture: Picture, context: Context, drawn: Drawn[], cell: [number, number], newest: () => [number, number],
 *   choose: (cell: [number, number]) => void}} Board  the step that is drawn; `made`: what its matrices were drawn from
 * @typedef {{id: string, width: number, mats: HTMLElement, picture: HTMLElement, scale: HTMLElement, sum: SumParts,
 *   board: Board|null}} Parts  of the station
 */

/**
 * Draws a step's matrices if something visible changed, then the chosen element.
 * @param {Parts} parts @param {Context} context
 * @param {State} state @param {Actions} actions
 */
export function drawBoard(parts, context, state, actions) {
  const picture = /** @type {Required<Kind>} */ (kindOf(context.step)).picture(context);
  const one = walkState.of(state).way === "one" ? { query: context.query, key: context.key } : null;
  const [height] = heightsFor(parts.mats); // seen without scrolling
  const seen = [
    context.trace.key,
    context.step.id,
    context.layer,
    context.head,
    parts.width,
    height,
    currentTheme(),
    typeScale(),
    one?.query,
    one?.key,
  ];
  const answers = picture.ids ? [context.query, ...picture.ids] : [];
  const made = [...seen, ...answers, ...picture.mats.map(({ matrix }) => matrix.shape.join("×"))].join(" ");
  const cell = chosenCell(context, picture, state);
  /** @type {Board} */
  const board = Object.assign(parts.board?.made === made ? parts.board : { made, drawn: [] }, {
    picture,
    context,
    cell,
    // Keys move from the newest choice, drawn or not, so that no fast keystroke is lost.
    newest: () => chosenCell(contextOf(context.trace, actions.get(), context.step), picture, actions.get()),
    choose: (/** @type {[number, number]} */ cell) => actions.set(choiceOf(context, picture, cell)),
  });
  if (board !== parts.board) board.drawn = drawAnew(parts, board, one, height);
  parts.board = board;
  show(parts, board, cell, false);
}

/** @param {Parts} parts @param {Board} board @param {{query: number, key: number}|null} one @param {number} height */
function drawAnew(parts, board, one, height) {
  const { picture } = board;
  const layout = matricesLayout(picture, { width: parts.width, height, one, type: typeScale() });
  parts.picture.classList.toggle("beside", layout.beside);
  update(parts.sum.element, { style: { "max-height": layout.beside ? `${height}px` : "" } });
  const focused = parts.mats.contains(document.activeElement);
  const { drawn, pooled } = drawMats(parts.mats, picture, layout);
  if (layout.room)
    parts.mats.prepend(parts.sum.element); // the free corner of a product
  else parts.scale.before(parts.sum.element);
  setText(parts.scale, pooled ? t("computation.pooled") : "");
  parts.scale.hidden = !pooled;
  for (const one of drawn) announce(one.held, () => savedAs(one, board.context.step, board.cell));
  const result = drawn[picture.mats.indexOf(picture.result)];
  followCells(result, {
    describedBy: parts.id,
    rows: picture.result.matrix.shape[0],
    at: () => board.newest(),
    label: t("computation.result", { name: picture.result.name().textContent ?? "" }),
    onHover: (cell) => show(parts, board, cell ?? board.cell, cell !== null),
    onChoose: (cell) => board.choose(cell),
  });
  if (focused) result.frame.focus({ preventScroll: true });
  return drawn;
}

/**
 * One element: highlights its inputs and shows its arithmetic.
 * @param {Parts} parts @param {Board} board @param {[number, number]} cell @param {boolean} hovered
 */
function show(parts, { drawn, picture, context }, [row, col], hovered) {
  light(drawn, row, col);
  if (col < 0) return drawNoSum(parts.sum, t("computation.none_chosen"));
  const arithmetic = /** @type {Required<Kind>} */ (kindOf(context.step)).explain(context, picture, row, col);
  drawArithmetic(parts.sum, arithmetic, {
    mat: picture.result,
    index: elementIndex(context, picture, row, col),
    where: elementName(context, picture, row, col),
    row,
    col,
    hovered,
  });
}
