/** The model menu groups models by family, and what was trained alike by what it was trained like. */

import assert from "node:assert/strict";
import { modelGroups } from "../../static/shell/model_menu.js";
import { differenceOf, shapeOf } from "../../static/ui/family_shape.js";
import { testWith } from "./words.js";

const test = testWith({
  "header.differs.mechanism.aft-simple": "no scores",
  "header.differs.n_head.1": "one head",
  "header.shape": "shape",
  "shape.layers": "{n} layers",
  "shape.heads": "{n} heads",
  "header.shared_layers": "all the same",
  "header.shared_layers_sets": "{n} sets",
});
Object.assign(globalThis, { document: { documentElement: { lang: "en" } } });

const like = (/** @type {Record<string, any>} */ differs) => ({ trained_like: { model: "mini", differs } });
const MODELS = [
  { name: "mini-aft", family: "decoder-only", card: like({ mechanism: "aft-simple" }) },
  { name: "mini", family: "decoder-only", card: like({}) },
  { name: "reader", family: "encoder-only", card: {} },
  { name: "writer", family: "decoder-only" },
];

test("families in the order of learning, then what was trained alike, the baseline first", () => {
  const said = modelGroups(MODELS).map(({ family, like: baseline, models }) => [
    family ?? baseline,
    models.map((one) => one.name),
  ]);
  assert.deepEqual(said, [
    ["decoder-only", ["writer"]],
    ["encoder-only", ["reader"]],
    ["mini", ["mini", "mini-aft"]],
  ]);
});

test("a difference in words, or as the setting that it is", () => {
  const said = (/** @type {Record<string, any>} */ differs) => differenceOf({ name: "x", card: like(differs) });
  assert.equal(said({ n_head: 1 }), "one head");
  assert.equal(said({ mechanism: "aft-simple", position: "none" }), "no scores");
  assert.equal(said({ d_ff: 64 }), "d_ff: 64");
});

test("layers with the same weights are said", () => {
  const said = (/** @type {string[]} */ ...w_q) =>
    shapeOf({ family: "encoder-only", description: { attentions: [{ n_layer: 3, n_head: 2, parameters: { w_q } }] } });
  assert.equal(said("0.w", "0.w", "0.w"), "shape · all the same");
  assert.equal(said("0.w", "0.w", "2.w"), "shape · 2 sets");
  assert.equal(said("0.w", "1.w", "2.w"), "shape");
  assert.equal(said(), "shape");
});
