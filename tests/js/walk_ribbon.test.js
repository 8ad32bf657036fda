/** The walk has no tab: the ribbon lights the station that its open step belongs to, and the walk begins where the reader is. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { stationOf, walkFrom, walkSteps } from "../../static/views/computation/steps.js";
import { VIEWS } from "../../static/views/index.js";
import { predictionTabOf, predictionTabsOf } from "../../static/views/tabs.js";

const DESCRIPTIONS = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf-8"));
const models = /** @type {any[]} */ (Object.values(DESCRIPTIONS));
const state = (more = {}) =>
  /** @type {any} */ ({ attention: null, layer: 0, view: "attention", viewState: {}, ...more });

test("each step of each model's walk belongs to a station of the ribbon", () => {
  const ribbon = VIEWS.filter(({ within }) => !within).map(({ id }) => id);
  for (const model of models)
    for (const step of walkSteps(model, state())) assert.ok(ribbon.includes(stationOf(step)), step.id);
});

test("the views are in the order of the forward pass, and the walk is not one of them", () => {
  const ribbon = VIEWS.filter(({ within }) => !within).map(({ id }) => id);
  assert.deepEqual(ribbon, [
    "model",
    "tokens",
    "embedding",
    "qkv",
    "distance",
    "rotation",
    "attention",
    "decay",
    "gate",
    "av",
    "ffn",
    "residual",
    "prediction",
    "training",
    "cost",
  ]);
});

test("the walk plays from the open station, in attention from its open step or from the scores", () => {
  const opens = (more) => walkFrom(state(more), models[0]).viewState?.computation.step;
  assert.equal(opens({ view: "tokens" }), "in.tokens");
  assert.equal(opens({ view: "ffn" }), "ffn.w1");
  assert.equal(opens({}), "attn.scores");
  assert.equal(walkFrom(state({}), models[0]).viewState?.computation.plays, true);
  assert.equal(opens({ viewState: { attention: { step: "scaled" } } }), "attn.scale");
  assert.equal(opens({ view: "prediction" }), "out.logits");
});

test("a classifier has the prediction by layer only, and a link to the other tab opens that", () => {
  /** @param {string} predicts @returns {any} */
  const of = (predicts) => ({ description: { predicts, can: { lens: true } } });
  assert.deepEqual(predictionTabsOf(of("next")), ["token", "layers"]);
  assert.deepEqual(predictionTabsOf(of("classes")), ["layers"]);
  assert.deepEqual(predictionTabsOf(of("same")), []);
  assert.equal(predictionTabOf({ viewState: {} }, of("classes")), "layers");
});
