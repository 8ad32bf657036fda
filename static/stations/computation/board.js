/** The matrices of the open step, and the chosen element of the result. */

import { announce, heightsFor } from "../../chart/pictures.js";
import { currentTheme, typeScale } from "../../chart/theme.js";
import { setText } from "../../ui/dom.js";
import { number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { followCells } from "./cells.js";
import { choiceOf, chosenCell, whereOf } from "./choice.js";
import { contextOf } from "./context.js";
import { kindOf } from "./kinds.js";
import { layoutOf } from "./layout.js";
import { light } from "./lit.js";
import { own } from "./own.js";
import { drawMats } from "./picture.js";
import { savedAs } from "./saved.js";
import { drawNoSum, drawSum } from "./sum.js";

/**
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../index.js"
 * @import { Context } from "./context.js"
 */

/**
 * Draws a step's matrices if something visible changed, then the chosen element.
 * @param {any} parts  of the station @param {Context} context
 * @param {State} state @param {Actions} actions
 */
export function drawBoard(parts, context, state, actions) {
  const picture = /** @type {any} */ (kindOf(context.step)).picture(context);
  const one = own.of(state).way === "one" ? { query: context.query, key: context.key } : null;
  const seen = [
    context.trace.key,
    context.step.id,
    context.layer,
    context.head,
    parts.width,
    innerHeight,
    currentTheme(),
    typeScale(),
    one?.query,
    one?.key,
  ];
  const answers = picture.ids ? [context.query, ...picture.ids] : [];
  const made = [...seen, ...answers, ...picture.mats.map(({ matrix }) => matrix.shape.join("×"))].join(" ");
  if (parts.board?.made === made) Object.assign(parts.board, { picture, context });
  else parts.board = { made, picture, context, drawn: drawAnew(parts, picture, one) };
  parts.board.cell = chosenCell(context, picture, state);
  // Keys move from the newest choice, drawn or not, so that no fast keystroke is lost.
  parts.board.newest = () => chosenCell(contextOf(context.trace, actions.get(), context.step), picture, actions.get());
  parts.board.choose = (cell) => actions.set(choiceOf(parts.board.context, parts.board.picture, cell));
  show(parts, parts.board.cell, false);
}

function drawAnew(parts, picture, one) {
  const [, height] = heightsFor(parts.mats);
  const layout = layoutOf(picture, { width: parts.width, height, one, type: typeScale() });
  parts.picture.classList.toggle("beside", layout.beside);
  const focused = parts.mats.contains(document.activeElement);
  const { drawn, pooled } = drawMats(parts.mats, picture, layout);
  if (layout.room)
    parts.mats.prepend(parts.sum.element); // the free corner of a product
  else parts.scale.before(parts.sum.element);
  const scale = t(one ? "computation.scale_one" : "computation.scale", { pixels: number(layout.scale, 2) });
  setText(parts.scale, [scale, pooled && t("computation.pooled")].filter(Boolean).join(" "));
  for (const one of drawn) announce(one.held, () => savedAs(one, parts.board.context.step, parts.board.cell));
  const result = drawn[picture.mats.indexOf(picture.result)];
  followCells(result, {
    describedBy: parts.id,
    rows: picture.result.matrix.shape[0],
    at: () => parts.board.newest(),
    label: t("computation.result", { name: picture.result.name().textContent }),
    onHover: (cell) => show(parts, cell ?? parts.board.cell, cell !== null),
    onChoose: (cell) => parts.board.choose(cell),
  });
  if (focused) result.frame.focus({ preventScroll: true });
  return drawn;
}

/** One element: highlights its inputs and shows its arithmetic. */
function show(parts, [row, col], hovered) {
  const { drawn, picture, context } = parts.board;
  light(drawn, row, col);
  if (col < 0) return drawNoSum(parts.sum, t("computation.none_chosen"));
  const arithmetic = /** @type {any} */ (kindOf(context.step)).explain(context, picture, row, col);
  drawSum(parts.sum, arithmetic, {
    mat: picture.result,
    alone: picture.rows === "row",
    where: whereOf(context, picture, row, col),
    row,
    col,
    hovered,
  });
}
