/** Measures of the residual stream: what goes in, what moves, what a LayerNorm keeps. */

import { normPlace, stackOf } from "../../../model/description.js";
import { lengthOf, normalised } from "../../../model/matrix.js";
import { number, power } from "../../../ui/format.js";
import { cosine, pageRow } from "../live.js";

/**
 * @import { Tensor } from "../../../data/wire.js"
 * @import { Token } from "../../../model/labels.js"
 * @import { Live } from "../live.js"
 * @import { Measure } from "./index.js"
 */

/** The stack that reads the sentence. @param {Live} live */
const reading = ({ model }) => stackOf(model, model.description.stacks[0].id);

/** The taps of a stream by depth: before the first layer, then after each. @param {Live} live */
export function depthsOf(live) {
  const { layers } = reading(live);
  const first = layers[0].sublayers[0].reads.tap;
  return [first, ...layers.map(({ sublayers }) => sublayers[sublayers.length - 1].leaves.tap)];
}

/** The same word in two places: how alike its vectors are, without position and with it. @type {Measure} */
export async function twins(live, { a, b }) {
  const { embedding } = reading(live);
  const [first] = depthsOf(live);
  const { tensors, tokens } = await live.tensors([embedding.roles.embedding.tap, first]);
  const [looked, summed] = [embedding.roles.embedding.tap, first].map((tap) =>
    cosine(pageRow(tensors[tap], a), pageRow(tensors[tap], b)),
  );
  return { value: summed, word: tokens[a].text.trim(), looked: number(looked, 2), summed: number(summed, 2) };
}

/** What every sublayer writes, and the stream between: with what they are. @param {Live} live */
export function streamSublayers(live) {
  const { layers } = reading(live);
  return layers.flatMap(({ sublayers }, layer) =>
    sublayers.map(({ kind, writes, leaves }) => ({ kind, layer, writes: writes.tap, leaves: leaves.tap })),
  );
}

/**
 * How far each position of some tensors moves when one token is another: ‖x − x′‖ / ‖x‖.
 * @param {Live} live @param {number} position @param {string} to @param {string[]} names
 */
export async function distancesMoved(live, position, to, names) {
  const here = await live.tensors(names);
  /** @type {number[]} */
  const ids = here.tokens.map((/** @type {Token} */ token) => token.id);
  const [{ id }] = await live.pieces(to);
  const there = await live.tensors(names, {
    input: { token_ids: ids.map((before, i) => (i === position ? id : before)) },
  });
  const rows = names.map((name) => ids.map((_, i) => distance(here.tensors[name], there.tensors[name], i)));
  return { rows, tokens: here.tokens };
}

/** @param {Tensor} a @param {Tensor} b @param {number} row */
function distance(a, b, row) {
  const [x, y] = [pageRow(a, row), pageRow(b, row)];
  return lengthOf(x.map((one, i) => one - y[i])) / lengthOf(x);
}

/** Rounding alone moves a position by less than this. */
export const STILL = 1e-5;

/** How many positions have moved after the last layer, when one token is another. @type {Measure} */
export async function movedParts(live, { position, to }) {
  const depths = depthsOf(live);
  const { rows, tokens } = await distancesMoved(live, position, to, [depths[0], depths[depths.length - 1]]);
  const [before, after] = rows.map((row) => row.filter((by) => by > STILL).length);
  const [from, now] = [tokens[position].text.trim(), to.trim()];
  return { value: after, before, after, all: tokens.length, from, to: now, earlier: position };
}

/** How alike the first position of other sentences is to that of this one, by depth. @param {Live} live @param {string[]} others */
export async function alikeByDepth(live, others) {
  const names = depthsOf(live);
  const [own, ...rest] = await Promise.all([
    live.tensors(names),
    ...others.map((text) => live.tensors(names, { input: { text } })), // under the same masks
  ]);
  return rest.map(({ tensors }) =>
    names.map((name) => cosine(pageRow(own.tensors[name], 0), pageRow(tensors[name], 0))),
  );
}

/** @type {Measure} */
export async function sentences(live, { others }) {
  const [alike] = await alikeByDepth(live, others);
  const [into, out] = [alike[0], alike[alike.length - 1]];
  return { value: out, in: number(into, 2), out: number(out, 2), layers: alike.length - 1 };
}

/** How far a LayerNorm's output moves when the same number is added to every feature before it. @type {Measure} */
export async function swallowed(live, { layer, add }) {
  const { norm } = reading(live).layers[layer].sublayers[0];
  if (!norm) throw new Error(`no LayerNorm in layer ${layer}`);
  const { input, out } = norm.roles;
  const { tensors } = await live.tensors([input.tap, out.tap]);
  const x = pageRow(tensors[input.tap], 0);
  const [plain, shifted] = [0, add].map((by) =>
    allNormalised(
      x.map((one) => one + by),
      norm.eps,
    ),
  );
  const off = Math.max(...plain.map((one, i) => Math.abs(one - shifted[i])));
  return { value: off, off: power(off), add, place: normPlace(reading(live)) ?? "" };
}

/** @param {Float32Array} x @param {number} eps @returns {number[]} */
function allNormalised(x, eps) {
  const { mean, deviation } = normalised(x, 0, eps);
  return Array.from(x, (one) => (one - mean) / deviation);
}
