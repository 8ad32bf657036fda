/** What is at a point: a line, a row, an FFN, a layer. No DOM. */

import { lineAt } from "../layout/lines.js";

/**
 * @import { Scene } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 * @import { Open } from "../own.js"
 */

/** The row of a band whose label or stream is at a point. @param {Scene} scene @param {number} x @param {number} y */
function rowAt({ bands }, x, y) {
  for (const [i, band] of bands.entries()) {
    const row = band.rows.findIndex((one) => Math.abs(one.y - y) <= one.height / 2);
    const { x0 } = band.columns[0];
    if (row >= 0 && x < x0 && x > x0 - 140) return { band: i, row };
  }
  return null;
}

/** The FFN at a point. @param {Scene} scene @param {number} x @param {number} y */
export const beadAt = ({ beads }, x, y) =>
  beads.find((one) => Math.hypot(one.x - x, one.y - y) <= Math.max(7, one.radius + 2)) ?? null;

/** What is at a point: a line before a label. @param {Scene} scene @param {number} x @param {number} y @returns {{line: Line|null, label: ReturnType<typeof rowAt>}} */
export function hitAt(scene, x, y) {
  const line = lineAt(scene.ghosts, x, y) ?? lineAt(scene.lines, x, y);
  return { line, label: line ? null : rowAt(scene, x, y) };
}

/** The layer whose place in a phone's strip is at a point. @param {Scene} scene @param {number} x @param {number} y @returns {Open|null} */
export function stripAt({ strip }, x, y) {
  if (!strip || y > strip.height) return null;
  for (const { stack, columns } of strip.scene.bands) {
    const layer = columns.findIndex(({ x0, x1 }) => x >= x0 && x < x1);
    if (layer >= 0) return { stack, layer };
  }
  return null;
}

/** The layers in the order of the forward pass. @param {Scene} scene @returns {Open[]} */
export const layersOf = ({ bands: [answering, ...read] }) =>
  [...read, answering].flatMap(({ stack, columns }) => columns.map((_, layer) => ({ stack, layer })));

/** The layer whose title is at a point. @param {Scene} scene @param {number} x @param {number} y @returns {Open|null} */
export function titleAt({ bands }, x, y) {
  for (const { stack, columns, top } of bands) {
    const layer = y < top - 4 && y > top - 32 ? columns.findIndex(({ x0, x1 }) => x >= x0 && x < x1) : -1;
    if (layer >= 0) return { stack, layer };
  }
  return null;
}

/** The layer at a point, above or below its rows too. @param {Scene} scene @param {number} x @param {number} y @returns {Open|null} */
export function layerUnder({ bands }, x, y) {
  for (const { stack, columns, top } of bands) {
    const layer = columns.findIndex(({ x0, x1 }) => x >= x0 && x < x1);
    if (layer >= 0 && y > top - 32) return { stack, layer };
  }
  return null;
}
