/**
 * Matrices with a frame of their own, the walk's and the map of FFN units: what the export menu needs to know of them. Around
 * their cells is no more than the labels of their rows. No DOM.
 */

/**
 * @import { Size } from "./layout.js"
 * @import { Matrix } from "./matrix.js"
 * @import { Place } from "./place.js"
 */

/**
 * Where the cells lie: at the right of `beside` pixels with the labels of the rows.
 * @param {Pick<Place, "box"|"cell"|"view"> & {dpr: number}} place  from the corner of the cells
 * @param {{beside?: number, rowText?: string[], type?: number}} [around] @returns {Size}
 */
export function framedSize({ box: { w, h }, cell, view, dpr }, { beside = 0, rowText = [], type = 1 } = {}) {
  const box = { x: beside, y: 0, w, h };
  const titles = { left: 0, lift: 0, rowTitle: "", top: 0, colText: [], angle: 0 };
  return { width: beside + w, height: h, box, cell, view, font: 12 * type, type, dpr, rowText, ...titles };
}

/**
 * The matrix as a file has it: no cell of it is chosen or written on, unless `own` says so.
 * @param {Pick<Matrix, "id"|"title"|"label"|"values"|"shape"|"scale"|"hover"> & Partial<Matrix>} own
 * @param {{rows: string[], cols: string[], named?: boolean}} labels  `named`: the rows' are drawn @returns {Matrix}
 */
export const framedMatrix = (own, { rows, cols, named = false }) => ({
  forbidden: null,
  rows: { labels: rows, title: "", role: "q", hidden: !named },
  cols: { labels: cols, title: "", role: "", hidden: true },
  cellText: () => "",
  describe: () => [],
  chosen: { row: -1, col: -1, span: "cell", role: "q" },
  onChoose: () => {},
  filename: `chumoku-${own.id}`,
  ...own,
});
