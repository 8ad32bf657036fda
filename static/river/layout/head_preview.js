/** One head's weights for a query, as lines in its layer and in numbers. No DOM. */

import { indexOfMost, rowIn } from "../../model/matrix.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Facts } from "../facts/facts.js"
 * @import { Head } from "./head_squares.js"
 * @import { Scene } from "./layout.js"
 * @import { Line } from "./lines.js"
 */

/** Of a head's preview, in pixels: all its weight together. */
const THICK = 26;
/** Weights below this have no line. */
const LEAST = 0.01;

/**
 * The weights of one row of a head, as lines in its layer.
 * @param {Scene} scene @param {Head} head @param {{from: number, to: number, row: number, weights: ArrayLike<number>}} of  the bands of keys
 *   and queries, the query, its weights
 * @returns {Line[]}
 */
export function linesOfHead(scene, { attention, layer }, { from, to, row, weights }) {
  const [keys, queries] = [scene.bands[from], scene.bands[to]];
  const { x0, x1 } = queries.columns[layer];
  const right = queries.rows[queries.index[row]];
  let top = right.y - THICK / 2;
  return Array.from(weights).flatMap((share, key) => {
    const width = share * THICK;
    const y1 = top + width / 2;
    top += width;
    if (share < LEAST) return [];
    const y0 = keys.rows[keys.index[key]].y;
    const flags = { many: false, own: false, shown: true };
    return [{ attention, layer, from, to, query: row, key, ...flags, share, width, x0, y0, x1, y1 }];
  });
}

/** The query whose weights a head shows: the chosen token, or the one of its stack that is read most. @param {ModelTrace} trace @param {Facts} facts @param {Head} head */
function queryOf(trace, { rolled, row }, { attention: id }) {
  const attention = trace.attentions.find((one) => one.id === id);
  const at = rolled.findIndex(({ river }) => river.stack === attention?.stack);
  if (at === 0) return row;
  const top = rolled[at].at[rolled[at].river.layers];
  return indexOfMost(top);
}

/**
 * One head's weights for a query, as lines and in numbers; null where it has no picture, or one that is pooled and its row is not here.
 * @param {ModelTrace} trace @param {Facts} facts @param {Scene} scene @param {Head} head @param {number} [row]  the query
 */
export function previewOf(trace, facts, scene, head, row = queryOf(trace, facts, head)) {
  const attention = trace.attentions.find(({ id }) => id === head.attention);
  const weights = trace.row(head.layer, head.head, row, head.attention);
  const from = scene.bands.findIndex(({ side }) => side === attention?.keys);
  const to = scene.bands.findIndex(({ stack }) => stack === attention?.stack);
  if (!weights || from < 0 || to < 0) return null;
  const known = trace.pool > 1 ? weights : exactRow(trace, head, row);
  const key = indexOfMost(known ?? weights);
  return {
    head,
    lines: linesOfHead(scene, head, { from, to, row, weights }),
    writes: to === 0 && scene.bands[0].side === "target",
    query: facts.names[to][row],
    key: facts.names[from][key],
    weight: known ? { low: known[key], high: known[key] } : aroundByte(Math.round(weights[key] * 255)),
  };
}

/** The weights of the open head as its matrix has them; null: this head has only a picture of bytes. @param {ModelTrace} trace @param {Head} head @param {number} row */
function exactRow({ detail }, { attention, layer, head }, row) {
  const is = detail?.overview && detail.attention === attention && detail.layer === layer && detail.head === head;
  return is ? rowIn(detail.overview, row) : null;
}

/** The weights that a byte of a picture, round(255 · w), may stand for. @param {number} byte */
const aroundByte = (byte) => ({ low: Math.max(0, byte - 0.5) / 255, high: Math.min(255, byte + 0.5) / 255 });
