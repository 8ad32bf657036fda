/** The tooltip for the cell under the pointer: its text beside it, its labels over both axes. */

import { h, setText, update } from "../../ui/dom.js";
import { middleOf } from "./place.js";

/** Over the picture, so that nothing is redrawn, and labels that were thinned out are shown too. */
export function makeTip() {
  const part = (name) => h("div", { class: name, hidden: true, "aria-hidden": true });
  return { words: part("hovertext"), row: part("marker row"), col: part("marker col") };
}

/** Show the text and highlight the labels of `cell`, or (null) hide them. @param {{row: number, col: number}|null} cell */
export function showTip(tip, cell, { matrix, size }) {
  const shown = cell && size;
  update(tip.words, { hidden: !shown });
  update(tip.row, { hidden: !shown || matrix.rows.hidden });
  update(tip.col, { hidden: !shown });
  if (!shown) return;
  const { x, y } = middleOf(cell, size);
  place(tip.row, matrix.rows, cell.row, { top: `${y}px`, right: `${size.width - size.box.x + 3}px` });
  place(tip.col, matrix.cols, cell.col, { left: `${x}px`, bottom: `${size.height - size.box.y + 5}px` });
  setText(tip.words, matrix.hover(cell.row, cell.col).join("\n"));
  update(tip.words, { style: { top: `${y}px`, ...beside(x, size) } });
}

/** On the side of the cell with more space. */
function beside(x, { width, cell }) {
  const away = cell.w / 2 + 6;
  const right = x < width / 2;
  return { left: right ? `${x + away}px` : "auto", right: right ? "auto" : `${width - x + away}px` };
}

function place(marker, { labels, role }, index, style) {
  setText(marker, labels[index]);
  update(marker, { style, dataset: { role } });
}
