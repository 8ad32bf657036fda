/** Measures of heads: where they look, how large their scores are, what they pass on. */

import { attentionOf, tapOf } from "../../../model/description.js";
import { indexOfMost } from "../../../model/matrix.js";
import { integer, number, percent, power, significant } from "../../../ui/format.js";
import { cosine, nextProbabilities, pageRow } from "../live.js";

/**
 * @import { Tensor } from "../../../data/wire.js"
 * @import { Live } from "../live.js"
 * @import { Measure } from "./index.js"
 */

/**
 * Roles of an attention in one layer, in the order asked.
 * @param {Live} live @param {{attention?: string|null, layer: number, text?: string}} at  `text`: another sentence than the step's
 * @param {string[]} roles
 */
export async function rolesOf(live, { attention = null, layer, text }, roles) {
  const open = attentionOf(live.model, attention);
  const names = roles.map((role) => tapOf(open, layer, role));
  const { meta, tensors } = await live.tensors(names, text === undefined ? {} : { input: { text } });
  const keys = open.keys === "source" ? meta.tokens : meta.target_tokens;
  return { open, keys, roles: names.map((name) => tensors[name]) };
}

/** The key with the largest weight in a row of a head, and the one that comes next. @type {Measure} */
export async function looks(live, { head, query, ...at }) {
  const { open, keys, roles } = await rolesOf(live, at, ["pattern", "scores"]);
  const row = pageRow(roles[0], query, head);
  const order = [...row.keys()].sort((a, b) => row[b] - row[a]);
  const [[name, score, raw], [next, less, raw_less]] = order.map((key) => {
    const scaled = pageRow(roles[1], query, head)[key];
    return [keys[key].text.trim(), number(scaled, 1), number(scaled / (open.scale ?? 1), 1)];
  });
  const found = { key: name, weight: percent(row[order[0]]), score, raw, next, less, raw_less, d: open.d_head };
  return { value: name, ...found };
}

/**
 * What is left of a weight if its key may not attend to the token before it in the layers below; `alone`: if only one head
 * there may not. @type {Measure}
 */
export async function linked(live, { layer, head, query, key, writer }) {
  const open = attentionOf(live.model);
  const name = tapOf(open, layer, "pattern");
  /** @param {{layer: number, head?: number}[]} blind */
  const weight = async (blind) => {
    const interventions = blind.map(({ layer, head }) => ({
      kind: "mask",
      where: { attention: open.id, layer, role: "mask", query: key, key: key - 1, ...(head !== undefined && { head }) },
      allow: false,
    }));
    const { tensors } = await live.tensors([name], { interventions });
    return pageRow(tensors[name], query, head)[key];
  };
  const below = Array.from({ length: layer }, (_, at) => ({ layer: at }));
  const [before, after, alone] = await Promise.all([[], below, [writer]].map(weight));
  const said = { before: percent(before, 0), after: percent(after, 0), alone: percent(alone, 0) };
  return { value: after / before, ...said, writer: writer.head, at: writer.layer };
}

/** How many times larger the weight of one key is than that of another. @type {Measure} */
export async function ratio(live, { head, query, a, b, ...at }) {
  const { keys, roles } = await rolesOf(live, at, ["pattern"]);
  const row = pageRow(roles[0], query, head);
  const [more, less] = [a, b].map((key) => percent(row[key]));
  const times = row[a] / row[b];
  return { value: times, times: number(times, 0), more, less, a: keys[a].text.trim(), b: keys[b].text.trim() };
}

/** How many different keys have the largest weight in a row of some head of a layer. @type {Measure} */
export async function differing(live, { query, ...at }) {
  const { open, keys, roles } = await rolesOf(live, at, ["pattern"]);
  const chosen = Array.from({ length: open.n_head }, (_, head) => indexOfMost(pageRow(roles[0], query, head)));
  const names = [...new Set(chosen)].map((key) => keys[key].text.trim());
  return { value: names.length, n: names.length, heads: open.n_head, keys: names.join(", ") };
}

/** How the variance of q·k grows from one dimension to all of them, within rows and over all heads. @type {Measure} */
export async function queryKeyProducts(live) {
  const { byDimension, d } = await variances(live);
  const times = byDimension[d] / byDimension[1];
  return { value: times, times: number(times, 0), d, left: number(times / d, 1) };
}

/**
 * The variance of q·k over the keys that a row may see, when only some dimensions are added: for 1, 2, 4 … all.
 * @param {Live} live
 */
export async function variances(live) {
  const open = attentionOf(live.model);
  const layers = Array.from({ length: open.n_layer }, (_, layer) => layer);
  const names = layers.flatMap((layer) => ["q", "k"].map((role) => tapOf(open, layer, role)));
  const { tensors } = await live.tensors(names);
  /** @type {Object<number, number>} */
  const byDimension = {};
  for (let size = 1; size <= open.d_head; size *= 2) {
    const all = layers.map((layer) => spreadOf(tensors[names[2 * layer]], tensors[names[2 * layer + 1]], size));
    byDimension[size] = all.reduce((a, b) => a + b, 0) / all.length;
  }
  return { byDimension, d: open.d_head };
}

/** The mean variance within a row. @param {Tensor} q @param {Tensor} k @param {number} size  dimensions added together */
function spreadOf(q, k, size) {
  const [heads, length, d] = q.shape;
  let sum = 0;
  let rows = 0;
  for (let head = 0; head < heads; head++)
    for (let query = 1; query < length; query++)
      for (let from = 0; from < d; from += size) {
        sum += variance(pageRow(q, query, head), (key) => pageRow(k, key, head), query + 1, from, size);
        rows++;
      }
  return sum / rows;
}

/** @param {ArrayLike<number>} q @param {(key: number) => ArrayLike<number>} keyAt @param {number} n @param {number} from @param {number} size */
function variance(q, keyAt, n, from, size) {
  const all = Array.from({ length: n }, (_, key) => {
    const k = keyAt(key);
    let sum = 0;
    for (let i = from; i < from + size; i++) sum += q[i] * k[i];
    return sum;
  });
  const mean = all.reduce((a, b) => a + b, 0) / n;
  return all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / n;
}

/** A row of weights without the division by √d. @type {Measure} */
export async function unscaled(live, { head, query, ...at }) {
  const { open, keys, roles } = await rolesOf(live, at, ["scores"]);
  const scores = pageRow(roles[0], query, head).slice(0, query + 1);
  const [scaled, raw] = [1, Math.sqrt(open.d_head)].map((by) => nextProbabilities(scores.map((score) => score * by)));
  const key = indexOfMost(scaled);
  const [slope, gone] = [scaled[key], raw[key]].map((a) => a * (1 - a));
  const words = { with: percent(scaled[key]), without: `1 − ${power(1 - raw[key])}`, key: keys[key].text.trim() };
  return { value: gone / slope, slope: significant(slope, 2), gone: power(gone), times: power(slope / gone), ...words };
}

/** How similar what a head passes on is to the value of its strongest key. @type {Measure} */
export async function handed(live, { head, query, ...at }) {
  const { keys, roles } = await rolesOf(live, at, ["pattern", "v", "z"]);
  const row = pageRow(roles[0], query, head);
  const key = indexOfMost(row);
  const z = pageRow(roles[2], query, head);
  const summed = z.map((_, i) => row.reduce((sum, a, k) => sum + a * pageRow(roles[1], k, head)[i], 0));
  const off = Math.max(...z.map((x, i) => Math.abs(x - summed[i])));
  const alike = cosine(z, pageRow(roles[1], key, head));
  return {
    value: alike,
    cosine: number(alike, 2),
    key: keys[key].text.trim(),
    weight: percent(row[key]),
    off: power(off),
  };
}

/** The source token that a row of a translation looks at most, over all heads of the last layer. @type {Measure} */
export async function crossed(live, { query, ...at }) {
  const { open, keys, roles } = await rolesOf(live, at, ["pattern"]);
  const mean = Array.from(keys, (_, key) => {
    const all = Array.from({ length: open.n_head }, (_, head) => pageRow(roles[0], query, head)[key]);
    return all.reduce((a, b) => a + b, 0) / open.n_head;
  });
  const key = indexOfMost(mean);
  return { value: keys[key].text.trim(), key: keys[key].text.trim(), weight: percent(mean[key]) };
}

// Measures of what a mask prevents.

/** The probability of the token that does come next, with the causal mask and without it. @type {Measure} */
export async function unmasked(live, { row }) {
  const masked = await live.answer(row);
  const open = await live.answer(row, { masks: { causal: false } });
  const { id, text } = masked.meta.tokens[row + 1];
  const patch = { causal: false };
  return { value: open.p[id], patch, token: text.trim(), before: percent(masked.p[id]), after: percent(open.p[id]) };
}

/** How far the answer moves when PADs are added to the sentence: Σ|Δp| / 2. @type {Measure} */
export async function padded(live, { count, side, padding, follow = true }) {
  const alone = await live.answer("last", { pad: { count: 0 } });
  const beside = await live.answer(lastReal(alone.row, count, side), {
    pad: { count, side, follow },
    masks: { padding },
  });
  const moved = alone.p.reduce((sum, p, i) => sum + Math.abs(p - beside.p[i]) / 2, 0);
  const { first } = alone;
  const answer = await live.nameOf(first);
  const [before, after] = [alone, beside].map(({ p }) => percent(p[first]));
  return { value: moved, moved: moved < 0.001 ? power(moved) : percent(moved), before, after, answer };
}

/** Where the last row of the sentence is, among PADs. @param {number} row @param {number} count @param {string} side */
const lastReal = (row, count, side) => (side === "left" ? row + count : row);

/** Which share of the cells is forbidden. @type {Measure} */
export async function forbidden(live, { layer = 0, attention = null }) {
  const { roles } = await rolesOf(live, { layer, attention }, ["mask"]);
  const cells = Array.from(/** @type {Uint8Array} */ (roles[0].data)).slice(0, roles[0].shape[1] * roles[0].shape[2]);
  const count = cells.filter(Boolean).length;
  return {
    value: count / cells.length,
    n: integer(count),
    all: integer(cells.length),
    share: percent(count / cells.length, 0),
  };
}

/** How much of their weight the queries give to later tokens, over the heads of a layer. @type {Measure} */
export async function later(live, { layer, attention = null }) {
  const { roles } = await rolesOf(live, { layer, attention }, ["pattern"]);
  const { data, shape } = roles[0];
  const [heads, queries, keys] = shape;
  const weights = /** @type {Float32Array} */ (data);
  const sum = weights.reduce((sum, a, at) => sum + (at % keys > Math.floor(at / keys) % queries ? a : 0), 0);
  return { value: sum / (heads * queries), share: percent(sum / (heads * queries), 0), heads };
}
