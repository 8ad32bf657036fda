/** The FFNs, as dots in the row of the chosen token. No DOM. */

/**
 * @import { Reach } from "../../model/reach.js"
 * @import { Band, Bead } from "./layout.js"
 */

/** What the FFNs of the chosen row add, by area. @param {Reach} reach @param {Band} band @param {number} row @returns {Bead[]} */
export function beadsOf({ river: { ffn, tokens } }, { columns, rows, index }, row) {
  if (!ffn) return [];
  return columns.flatMap(({ x0, x1 }, layer) => {
    if (x0 === x1) return [];
    const ratio = ffn[layer * tokens + row];
    const radius = Math.min(7, 4 * Math.sqrt(ratio));
    return { x: x1 - Math.min(14, (x1 - x0) / 4), y: rows[index[row]].y, radius, ratio, layer };
  });
}
