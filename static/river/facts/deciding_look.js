/** Edges of the run that the picture shows: all looks at a token, and the one that decides most. No DOM. */

import { rowOfShares } from "../../model/reach.js";

/**
 * @import { Effect } from "../../data/effects.js"
 * @import { Flow } from "../../data/river.js"
 * @import { Edge } from "../../model/cuts.js"
 * @import { SideName } from "../../model/description.js"
 * @import { Reach } from "../../model/reach.js"
 */

/** @param {Flow} flow @param {number} layer @param {number} query @param {number} key */
function shareAt(flow, layer, query, key) {
  const { from, length } = rowOfShares(flow, layer, query);
  return key < length ? flow.share[from + key] : 0;
}

/**
 * The looks of the chosen token at a token, in all layers, without those that a mask forbids.
 * @param {Reach} reach  of the answering stack @param {number} row  the chosen token
 * @param {SideName} side  of the other token @param {number} key
 * @returns {Edge[]}
 */
export function looksAt({ flows, river }, row, side, key) {
  return flows
    .filter(({ flow }) => flow.keys === side && !(side === river.side && key === row))
    .flatMap(({ flow }) =>
      Array.from({ length: river.layers }, (_, layer) => ({
        attention: flow.attention,
        layer,
        query: row,
        key,
      })).filter(({ layer }) => shareAt(flow, layer, row, key) > 0),
    );
}

/**
 * All looks of the chosen token at the token whose looks, measured one by one, lower the answer most; [] if none does.
 * @param {Reach} reach  of the answering stack @param {number} row @param {Map<string, Effect>} effects
 * @returns {Edge[]}
 */
export function decidingLook(reach, row, effects) {
  const sides = new Map(reach.flows.map(({ flow }) => [flow.attention, flow.keys]));
  /** @type {Map<string, {side: SideName, key: number, fall: number}>} */
  const falls = new Map();
  for (const { attention, query, key, delta } of effects.values()) {
    const side = sides.get(attention);
    if (!side || query !== row) continue;
    const known = falls.get(`${side} ${key}`) ?? { side, key, fall: 0 };
    falls.set(`${side} ${key}`, { ...known, fall: known.fall - delta });
  }
  const [most] = [...falls.values()].sort((a, b) => b.fall - a.fall);
  return most && most.fall > 0 ? looksAt(reach, row, most.side, most.key) : [];
}
