/** Measures of what a mask prevents. */

import { percent, power } from "../../../ui/format.js";

/** @typedef {import("./index.js").Measure} Measure */

/** The probability of the token that does come next, with the causal mask and without it. @type {Measure} */
export async function unmasked(live, { row }) {
  const masked = await live.answer(row);
  const open = await live.answer(row, { masks: { causal: false } });
  const { id, text } = masked.meta.tokens[row + 1];
  return { value: open.p[id], token: text.trim(), before: percent(masked.p[id]), after: percent(open.p[id]) };
}

/** How far the answer moves when PADs stand beside the sentence: Σ|Δp| / 2. @type {Measure} */
export async function padded(live, { count, side, padding }) {
  const alone = await live.answer("last", { pad: { count: 0 } });
  const beside = await live.answer(lastReal(alone.row, count, side), {
    pad: { count, side, follow: true },
    masks: { padding },
  });
  const moved = alone.p.reduce((sum, p, i) => sum + Math.abs(p - beside.p[i]) / 2, 0);
  const { first } = alone;
  return { value: moved, moved: power(moved), before: percent(alone.p[first]), after: percent(beside.p[first]) };
}

/** Where the last row of the sentence is, among PADs. @param {number} row @param {number} count @param {string} side */
const lastReal = (row, count, side) => (side === "left" ? row + count : row);
