/** Measures of what a mask prevents. */

import { integer, percent, power } from "../../../ui/format.js";
import { rolesOf } from "./attention.js";

/** @import { Measure } from "./index.js" */

/** The probability of the token that does come next, with the causal mask and without it. @type {Measure} */
export async function unmasked(live, { row }) {
  const masked = await live.answer(row);
  const open = await live.answer(row, { masks: { causal: false } });
  const { id, text } = masked.meta.tokens[row + 1];
  return { value: open.p[id], token: text.trim(), before: percent(masked.p[id]), after: percent(open.p[id]) };
}

/** How far the answer moves when PADs stand beside the sentence: Σ|Δp| / 2. @type {Measure} */
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
