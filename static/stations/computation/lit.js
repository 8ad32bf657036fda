/** The inputs of one element of the result, highlighted in every matrix, with their names beside them. */

import { shortLabel } from "../../model/labels.js";

/**
 * @import { Box } from "./layout.js"
 * @import { Drawn } from "./picture.js"
 * @import { Mat } from "./product.js"
 */

/**
 * None for column −1. @param {Drawn[]} drawn @param {number} row @param {number} col
 */
export function light(drawn, row, col) {
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

/** The middle of a name so that it does not overflow. @param {number} middle @param {number} half @param {number} width  all in pixels */
const within = (middle, half, width) =>
  width > 2 * half ? Math.max(half, Math.min(middle, width - half)) : Math.max(half, middle);
