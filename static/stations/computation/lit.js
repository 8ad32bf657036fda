/** The inputs of one element of the result, highlighted in every matrix, with their names beside them. */

import { shortLabel } from "../../model/labels.js";

/** @typedef {import("./picture.js").Drawn} Drawn */

/**
 * None for column −1. @param {Drawn[]} drawn @param {number} row @param {number} col
 */
export function light(drawn, row, col) {
  for (const one of drawn) {
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
    if (colName) nameCol(colName, mat, at.col, left + width / 2, box.width);
  }
}

/**
 * @param {HTMLElement|null} element
 * @param {import("./product.js").Mat} mat @param {import("./layout.js").Box} box @param {number|null} inside @param {number|undefined} row
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

/**
 * @param {HTMLElement} element
 * @param {import("./product.js").Mat} mat @param {number|undefined} col @param {number} middle @param {number} width
 */
function nameCol(element, { cols }, col, middle, width) {
  element.textContent = cols ? shortLabel(cols[col ?? -1] ?? "", 14) : String(col);
  const half = element.offsetWidth / 2; // it never overflows
  element.style.left = `${width > 2 * half ? Math.max(half, Math.min(middle, width - half)) : Math.max(half, middle)}px`;
}
