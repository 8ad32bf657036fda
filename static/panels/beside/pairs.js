/** Pairs of models that differ in one thing; what to look at is `beside.pair_<id>`. No DOM. */

import { own as embedding } from "../../data/embedding.js";

/**
 * @typedef {{id: string, models: [string, string], opens?: import("../../state/store.js").Patch}} Pair  `opens`: where its
 *   difference is seen first
 */

/** @type {Pair[]} */
export const PAIRS = [
  { id: "aft_full", models: ["mini-softmax", "mini-aft-full"] },
  { id: "aft_simple", models: ["mini-softmax", "mini-aft-simple"] },
  { id: "single_head", models: ["mini-softmax", "mini-single-head"] },
  { id: "relative", models: ["mini-softmax", "mini-relative"] },
  { id: "no_mask", models: ["mini-softmax", "mini-no-mask"] },
  { id: "post_norm", models: ["mini-softmax", "mini-post-norm"] },
  {
    id: "no_position",
    models: ["mini-softmax", "mini-no-position"],
    opens: { view: "embedding", ...embedding.patch({ tab: "swap" }) },
  },
];

/** Those whose models are both there. @param {{name: string}[]} models */
export const pairsAmong = (models) =>
  PAIRS.filter((pair) => pair.models.every((name) => models.some((model) => model.name === name)));

/** The pair that is open. @param {import("../../state/store.js").State} state */
export const openPair = ({ model, beside }) =>
  PAIRS.find(({ models: [a, b] }) => a === model && b === beside?.model) ?? null;
