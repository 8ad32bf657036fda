/** Which heads the picture has, which decide most, and one head's weights. No DOM. */

import { indexOfMost, rowIn } from "../../model/matrix.js";
import { sideOf } from "../../model/sides.js";
import { linesOfHead, ratioOf } from "./head_squares.js";

/**
 * @typedef {import("../../data/model_trace.js").ModelTrace} ModelTrace  @typedef {import("../facts/facts.js").Told} Told
 * @typedef {import("./head_squares.js").Head} Head  @typedef {import("./layout.js").Scene} Scene  @typedef {import("../../model/description.js").Attention} Attention
 */

/** The attentions of a stack that have pictures. @param {ModelTrace} trace @param {string} stack */
const pictured = ({ attentions }, stack) => attentions.filter((one) => one.stack === stack && one.overview !== null);

/** Between which attentions the reader can choose: the answering stack's, the last one first. @param {ModelTrace} trace @param {Told} told */
export const choicesOf = (trace, { rolled }) => pictured(trace, rolled[0].river.stack).reverse();

/**
 * One attention of each stack, the answering one's as chosen.
 * @param {ModelTrace} trace @param {Told} told @param {string|null} chosen @returns {import("./layout.js").HeadsOf[]}
 */
export function headsOf(trace, told, chosen) {
  return told.rolled.flatMap(({ river: { stack } }) => {
    const all = pictured(trace, stack);
    const attention = all.find(({ id }) => id === chosen) ?? all[all.length - 1];
    if (!attention) return [];
    const [nQuery, nKey] = [attention.queries, attention.keys].map((side) => sideOf(trace.sides, side).tokens.length);
    const { id, n_head: count } = attention;
    /** @param {number} layer */
    const order = (layer) => decisive(trace, told, attention, layer);
    return [{ stack, attention: id, count, ratio: ratioOf(nQuery, nKey), order }];
  });
}

/** Heads, those that look at what decides first; in their order where pictures are pooled, which do not say it. @param {ModelTrace} trace @param {Told} told @param {Attention} attention @param {number} layer */
function decisive(trace, told, attention, layer) {
  if (trace.pool > 1) return Array.from({ length: attention.n_head }, (_, head) => head);
  const effects = [...(told.measured?.effects.values() ?? [])].filter(
    (one) => one.attention === attention.id && one.layer === layer,
  );
  const scores = Array.from({ length: attention.n_head }, (_, head) => {
    const picture = trace.picture(layer, head, attention.id);
    return effects.reduce((sum, { query, key, delta }) => {
      const weight = picture ? picture.data[query * picture.n_key + key] / 255 : 0;
      return sum + Math.abs(delta) * weight;
    }, 0);
  });
  return [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b);
}

/** The query whose weights a head shows: the chosen token, or the one of its stack that is read most. @param {ModelTrace} trace @param {Told} told @param {Head} head */
function queryOf(trace, { rolled, row }, { attention: id }) {
  const attention = trace.attentions.find((one) => one.id === id);
  const at = rolled.findIndex(({ river }) => river.stack === attention?.stack);
  if (at === 0) return row;
  const top = rolled[at].at[rolled[at].river.layers];
  return indexOfMost(top);
}

/**
 * One head's weights for a query, as lines and in numbers; null where it has no picture, or one that is pooled and its row is not here.
 * @param {ModelTrace} trace @param {Told} told @param {Scene} scene @param {Head} head @param {number} [row]  the query
 */
export function previewOf(trace, told, scene, head, row = queryOf(trace, told, head)) {
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
    query: told.names[to][row],
    key: told.names[from][key],
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
