/** Pairs of models that differ in one thing; what to look at is `beside.pair_<id>`. No DOM. */

import { own as embedding } from "../../data/embedding.js";
import { own as beside } from "../../model/compare/beside.js";

/** @import { Patch, State } from "../../state/store.js" */

/**
 * @typedef {{id: string, models: [string, string], heads?: [number, number, number, number],
 *   opens?: Patch}} Pair  `heads`: layer and head on the left, and on the right, where the difference is seen
 *   (tests/test_pairs.py holds what is said of them); `opens`: another place for it
 */

/** @type {Pair[]} */
export const PAIRS = [
  { id: "aft_full", models: ["mini-softmax", "mini-aft-full"], heads: [3, 2, 3, 2] },
  { id: "aft_simple", models: ["mini-softmax", "mini-aft-simple"], heads: [3, 2, 3, 2] },
  { id: "single_head", models: ["mini-softmax", "mini-single-head"], heads: [2, 1, 2, 0] },
  { id: "relative", models: ["mini-softmax", "mini-relative"], heads: [2, 1, 1, 2] },
  { id: "no_mask", models: ["mini-softmax", "mini-no-mask"], heads: [0, 0, 0, 0] },
  { id: "post_norm", models: ["mini-softmax", "mini-post-norm"], heads: [0, 0, 0, 0] },
  {
    id: "no_position",
    models: ["mini-softmax", "mini-no-position"],
    opens: { view: "embedding", ...embedding.patch({ tab: "swap" }) },
  },
];

/** Its place on the page, of both sides. @param {Pair} pair @returns {Patch} */
export function opensAt({ heads, opens }) {
  if (!heads) return opens ?? {};
  const [layer, head, otherLayer, otherHead] = heads;
  const other = beside.patch({ attention: null, layer: otherLayer, head: otherHead });
  return { view: "attention", attention: null, layer, head, ...other };
}

/** Those whose models are both there. @param {{name: string}[]} models */
export const pairsAmong = (models) =>
  PAIRS.filter((pair) => pair.models.every((name) => models.some((model) => model.name === name)));

/** The pair that is open. @param {State} state */
export const openPair = ({ model, beside }) =>
  PAIRS.find(({ models: [a, b] }) => a === model && b === beside?.model) ?? null;
