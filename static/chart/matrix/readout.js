/** Around a matrix: its buttons (save, zoom), the text about one cell below it, and the tooltip over that cell. */

import { h, plainText, replace, replaceChanged, setText, svg, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { pngOf, saveBlob, saveText } from "../../ui/save.js";
import { boxedText } from "../../ui/token_text.js";
import { saveButtons } from "../figures.js";
import { ICONS } from "../pictures.js";
import { drawingOf } from "./nodes.js";
import { boxOf, isWhole, middleOf, wholeOf, zoomed } from "./view.js";

/**
 * @import { Size } from "./layout.js"
 * @import { Axis, Matrix, Parts } from "./matrix.js"
 * @import { Cell } from "./view.js"
 */

/** @param {Parts} parts */
export function buttonsOf(parts) {
  /** @param {keyof typeof ICONS} name @param {() => unknown} act */
  const button = (name, act) =>
    h(
      "button",
      {
        type: "button",
        class: name,
        title: t(`matrix.button.${name}`),
        "aria-label": t(`matrix.button.${name}`),
        on: { click: act },
      },
      icon(name),
    );
  const closer = (/** @type {number} */ factor) => () => zoom(parts, factor);
  return h(
    "div",
    { class: "matrix-buttons", role: "group" },
    saveButtons(parts.picture, (format) => saveBare(parts, format)),
    [button("closer", closer(0.5)), button("back", closer(2)), button("all", () => showAll(parts))],
  );
}

/** @param {keyof typeof ICONS} name */
const icon = (name) =>
  svg("svg", { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": true }, svg("path", { d: ICONS[name] }));

/** Zooms towards the chosen cell, or out. @param {Parts} parts @param {number} factor */
export function zoom({ matrix, size, lookAt }, factor) {
  if (matrix && size) lookAt(zoomed(size.view, factor, matrix.chosen, matrix.shape, true));
}

/** The whole; from there, one that scrolls is shown as large as before. @param {Parts} parts */
export function showAll({ matrix, size, lookAt }) {
  lookAt(matrix && size?.map && !isWhole(size.view, matrix.shape) ? wholeOf(matrix.shape) : null);
}

/** Saves the picture alone. @param {Parts} parts @param {import("../figures.js").Format} format */
async function saveBare({ drawn, fileSize }, format) {
  const size = fileSize();
  if (!drawn || !size) return;
  const drawing = drawingOf(drawn, size);
  if (format === "png") saveBlob(await pngOf(drawing), `${drawn.filename}.png`);
  else saveText(drawing.svg, "image/svg+xml", `${drawn.filename}.svg`);
}

/** It lies over the picture, so that nothing is redrawn, and also shows labels for which there was no space. */
export function makeTip() {
  const part = (/** @type {string} */ name) => h("div", { class: name, hidden: true, "aria-hidden": true });
  return { words: part("hovertext"), row: part("marker row"), col: part("marker col") };
}

/** So much room three lines of the text need, in pixels. */
const TIP = 64;

/** Show the text and highlight the labels of `cell`, or (null) hide them. Where a legend stands below the matrix, a text that fits takes its place, and covers no cell. @param {Parts["tip"]} tip @param {Cell|null} cell @param {Parts} parts */
export function showCellTip(tip, cell, { matrix, size, frame }) {
  const shown = cell && size && matrix;
  update(tip.words, { hidden: !shown });
  update(tip.row, { hidden: !shown || matrix.rows.hidden });
  update(tip.col, { hidden: !shown });
  if (!shown) return;
  const { x, y } = middleOf(cell, size);
  place(tip.row, matrix.rows, cell.row, { top: `${y}px`, right: `${size.width - size.box.x + 3}px` });
  place(tip.col, matrix.cols, cell.col, { left: `${x}px`, bottom: `${size.height - size.box.y + 3}px` });
  replaceChanged(
    tip.words,
    matrix.hover(cell.row, cell.col).map((line) => h("span", null, boxedText(line))),
  );
  const legend = frame.nextElementSibling?.classList.contains("legend-place") === true;
  tip.words.classList.toggle("for-legend", legend);
  if (legend) update(tip.words, { style: { top: "", left: "", right: "", transform: "" } });
  if (legend && tip.words.scrollWidth <= tip.words.clientWidth) return;
  tip.words.classList.remove("for-legend");
  // The neighbours in its row stay in sight; in the first rows what is below is covered.
  const away = boxOf(cell, size).h / 2 + 6;
  const above = y - away > TIP;
  const at = { top: `${above ? y - away : y + away}px`, transform: above ? "translateY(-100%)" : "none" };
  update(tip.words, { style: { ...at, ...beside(x, size) } });
}

/** On the side of the cell with more space. @param {number} x @param {Size} size */
function beside(x, { width, cell }) {
  const away = cell.w / 2 + 6;
  const right = x < width / 2;
  return { left: right ? `${x + away}px` : "auto", right: right ? "auto" : `${width - x + away}px` };
}

/** @param {HTMLElement} marker @param {Axis} axis @param {number} index @param {{top: string, right: string}|{left: string, bottom: string}} style */
function place(marker, { labels, names = labels, role }, index, style) {
  setText(marker, names[index]);
  update(marker, { style, dataset: { role, named: names !== labels } });
}

/** The cell under the pointer, or else the chosen one. @param {Parts} parts @param {Cell|null} cell */
export function showReadout(parts, cell) {
  const { matrix, readout, tip } = parts;
  if (!matrix) return;
  const { row, col } = cell ?? matrix.chosen;
  parts.hovered = cell;
  // Screen readers announce only a choice: a moving pointer would make them talk all the time.
  update(readout, {
    "aria-live": cell ? "off" : "polite",
    dataset: { row, col, value: matrix.values[row * matrix.shape[1] + col], ...placeOf(matrix, row, col) },
  });
  const words = matrix.describe(row, col);
  const text = plainText(words);
  if (readout.textContent !== text) replace(readout, ...words);
  showCellTip(tip, cell, parts);
}

/** The names of a cell's place, for `data-*`: query and key where the axes are these. @param {Matrix} matrix @param {number} row @param {number} col */
function placeOf({ rows, cols }, row, col) {
  const names = /** @type {{query?: number, key?: number}} */ ({});
  if (rows.role === "q") names.query = row;
  if (cols.role === "k") names.key = col;
  return names;
}
