/** What mechanisms without a plain QKᵀ show: their steps, and the arithmetic of their weights in float64. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { identityOf, showsMeans } from "../../static/model/description.js";
import { elementOf } from "../../static/model/identities.js";
import {
  featureTerms,
  halfLife,
  knowsScores,
  knowsValues,
  needsOfScores,
  needsOfWeights,
  sliceOf,
  statesOf,
  valuesFor,
  weighsKeys,
} from "../../static/model/weight_arithmetic.js";
import { attentionSteps as stepsOfStation } from "../../static/views/attention/steps.js";
import { walkSteps } from "../../static/views/computation/steps.js";
import { biasByPosition } from "../../static/views/distance/learned.js";
import { attentionKnowsPositions } from "../../static/views/embedding/swap.js";
import { VIEWS } from "../../static/views/index.js";
import { explainedBy } from "../../static/views/inspector/inspector.js";

const MODELS = JSON.parse(readFileSync(new URL("mechanisms.json", import.meta.url), "utf-8"));
const attention = (/** @type {string} */ name) => MODELS[name].description.attentions[0];
const state = (more = {}) =>
  /** @type {any} */ ({ attention: null, layer: 0, view: "attention", viewState: {}, file: null, ...more });
const CATALOGUES = ["en", "ja"].map((lang) =>
  JSON.parse(readFileSync(new URL(`../../static/i18n/${lang}.json`, import.meta.url), "utf-8")),
);
const matrix = (/** @type {number[][]} */ rows) => ({
  shape: [rows.length, rows[0].length],
  data: Float32Array.from(rows.flat()),
});

const near = (/** @type {number|undefined} */ found, /** @type {number} */ expected) =>
  assert.ok(Math.abs((found ?? NaN) - expected) < 1e-12, `${found} is not ${expected}`);

test("some attentions tell positions apart by themselves", () => {
  const blind = Object.keys(MODELS).filter((name) => !attentionKnowsPositions(MODELS[name]));
  assert.deepEqual(
    blind.sort(),
    Object.keys(MODELS)
      .filter((name) => ["aft-simple", "softmax"].includes(name))
      .sort(),
  );
  assert.ok(blind.length < Object.keys(MODELS).length);
});

test("each mechanism has the steps of its own equation", () => {
  const steps = Object.fromEntries(Object.keys(MODELS).map((name) => [name, stepsOfStation(attention(name))]));
  assert.deepEqual(steps, {
    relative: ["content", "distance", "scaled", "masked", "weights"],
    rotary: ["scaled", "masked", "weights"],
    "aft-full": ["bias", "masked", "feature", "weights"],
    "aft-simple": ["masked", "feature", "weights"],
    "aft-conv": ["bias", "masked", "weights"],
    wkv: ["masked", "feature", "weights"],
  });
});

test("a mean over features is called one, and a weight that a head shares is not", () => {
  const means = Object.keys(MODELS).filter((name) => showsMeans(attention(name)));
  assert.deepEqual(means, ["aft-full", "aft-simple", "wkv"]);
});

test("the walk goes through the roles in the order in which they are made", () => {
  const walk = (/** @type {string} */ name) =>
    walkSteps(MODELS[name], state())
      .filter(({ group }) => group === "attn")
      .map(({ kind }) => kind.replace("role-", "r:"));
  assert.deepEqual(walk("relative"), [
    ...["norm", "q", "k", "v", "heads", "r:distance", "r:content_scores", "r:relative_scores", "r:scores", "mask"],
    ...["softmax", "r:content_z", "r:relative_z", "r:z", "concat", "wo", "residual"],
  ]);
  assert.deepEqual(walk("aft-full"), [
    ...["norm", "q", "k", "v", "heads", "r:position_bias", "r:mask", "feature", "r:mean_weights", "r:numerator"],
    ...["r:denominator", "r:mixed", "r:gate", "r:z", "concat", "wo", "residual"],
  ]);
  assert.ok(walk("wkv").includes("r:k"), "k is not just the input times W_K: the token before is mixed in");
});

test("weights and scores of every mechanism are explained term by term", () => {
  const explains = (/** @type {string} */ name) => explainedBy(VIEWS, state(), MODELS[name]);
  assert.deepEqual(["relative", "rotary", "aft-full", "aft-simple", "aft-conv", "wkv"].map(explains), [
    ...["weight", "weight", "feature", "feature", "feature", "feature"],
  ]);
  assert.equal(explainedBy(VIEWS, state({ view: "av" }), MODELS.relative), "z");
  assert.ok(knowsScores(attention("rotary")) && knowsValues(attention("relative")) && !weighsKeys(attention("rotary")));
});

test("what an explanation needs is what its equation names", () => {
  const names = (/** @type {string[]} */ needs) => needs.map((need) => need.split(".").at(-1));
  assert.deepEqual(names(needsOfScores(attention("relative"), 0)), ["distance", "table_k", "table_v"]);
  assert.deepEqual(names(needsOfScores(attention("rotary"), 0)), ["q_rotated", "k_rotated"]);
  assert.deepEqual(names(needsOfWeights(attention("aft-full"), 0, true)), ["position_bias", "weights"]);
  assert.deepEqual(names(needsOfWeights(attention("aft-conv"), 0, true)), ["position_bias"]);
  assert.deepEqual(names(needsOfWeights(attention("wkv"), 0, false)), ["decay", "bonus"]);
});

test("an AFT weight is e^(w + k) over the allowed keys, divided by their sum", () => {
  const parts = {
    k: matrix([
      [0, 1],
      [1, 2],
      [5, 9],
    ]),
    mask: matrix([[0, 0, 1]]),
    bias: matrix([[2, 0, 0]]),
  };
  const of = (/** @type {number} */ key) => featureTerms(parts, 0, key, 1).weight;
  near(of(0), Math.exp(3) / (Math.exp(3) + Math.exp(2)));
  near(of(1), Math.exp(2) / (Math.exp(3) + Math.exp(2)));
  assert.equal(of(2), 0);
  assert.equal(
    featureTerms({ ...parts, mask: matrix([[1, 1, 1]]) }, 0, 0, 1).weight,
    0,
    "a row without an allowed key",
  );
});

test("an RWKV weight falls with each token between, and a token's own has the bonus", () => {
  const [decay, bonus] = [[Math.log(0.5)], [0.25]];
  const parts = {
    k: matrix([[1], [2], [3]]),
    mask: matrix([
      [0, 1, 1],
      [0, 0, 1],
      [0, 0, 0],
    ]),
    decay,
    bonus,
    places: [0, 1, 2],
  };
  const terms = [1 - 0.5, 2, 3 + 0.25].map(Math.exp);
  near(featureTerms(parts, 2, 0, 0).weight, terms[0] / (terms[0] + terms[1] + terms[2]));
  near(featureTerms(parts, 2, 2, 0).weight, terms[2] / (terms[0] + terms[1] + terms[2]));
  near(halfLife(Math.log(Math.LN2 / 4)), 4);
});

test("the state, token by token, is the two sums over what came before", () => {
  const [k, v, decay] = [[1, -2, 0.5], [3, 5, 7], Math.log(0.3)];
  const { above, below, top } = statesOf({ k, v, decay })[3];
  const exps = k.map((one, i) => Math.exp(one - 0.3 * (2 - i)));
  near((above * Math.exp(top)) / (exps[0] * 3 + exps[1] * 5 + exps[2] * 7), 1);
  near((below * Math.exp(top)) / (exps[0] + exps[1] + exps[2]), 1);
  const padded = statesOf({ k: [9, ...k], v: [9, ...v], decay, real: (i) => i > 0 });
  assert.deepEqual(padded[4], { above, below, top }, "a PAD changes nothing");
});

test("means and sums over features are elements of identities", () => {
  const weights = { shape: [1, 1, 2, 2], data: Float32Array.of(0.25, 0.5, 0.75, 0.5) };
  const v = { shape: [1, 2, 2], data: Float32Array.of(4, 1, 8, 3) };
  const tensors = {
    weights,
    v,
    n: { shape: [1, 1, 2], data: Float32Array.of(6, 8) },
    d: { shape: [1, 1], data: Float32Array.of(2) },
  };
  const roles = {
    weights: { dims: "head query key d_head" },
    v: { dims: "head position d_head" },
    n: { dims: "head position d_head" },
    d: { dims: "head position" },
  };
  const of = (/** @type {string} */ op, /** @type {string[]} */ names, /** @type {number} */ col) =>
    elementOf(
      { op, of: names, gives: "it" },
      (one) => tensors[one],
      { n_head: 1, scale: null, roles },
      { head: 0, row: 0, col },
    )?.total;
  assert.equal(of("feature_mean", ["weights"], 1), 0.625);
  assert.equal(of("feature_sum", ["weights", "v"], 0), 0.25 * 4 + 0.75 * 8);
  assert.equal(of("quotient", ["n", "d"], 1), 4);
  assert.deepEqual([...sliceOf({ shape: [1, 2, 2], data: weights.data }, 1).data], [0.5, 0.5]);
});

test("with relative positions a role is the sum of its parts, and a value has the vector of its distance", () => {
  assert.deepEqual(identityOf(attention("relative"), "scores")?.of, ["content_scores", "relative_scores"]);
  const [table, rows] = [
    matrix([
      [10, 20],
      [30, 40],
    ]),
    { shape: [1, 2], data: Int32Array.of(1, 0) },
  ];
  const distance = /** @type {any} */ ({ rows, keys: table, values: table });
  assert.deepEqual(
    [
      ...valuesFor(
        {
          v: matrix([
            [1, 2],
            [3, 4],
          ]),
          distance,
        },
        0,
      ).data,
    ],
    [31, 42, 13, 24],
  );
  const tensors = { q: { shape: [1, 1, 2], data: Float32Array.of(1, 2) }, table, rows };
  const found = elementOf(
    { op: "scaled_row_product", of: ["q", "table", "rows"], gives: "it" },
    (one) => tensors[one],
    { n_head: 1, scale: 0.5 },
    { head: 0, row: 0, col: 0 },
  );
  assert.equal(found?.total, (1 * 30 + 2 * 40) / 2);
});

test("each step of each walk has a name, a short one and a text, in both languages", () => {
  for (const model of Object.values(MODELS))
    for (const { kind } of walkSteps(model, state()).filter((step) => !step.kind.startsWith("role-")))
      for (const words of CATALOGUES)
        for (const part of ["step", "short", "about"])
          assert.ok(words[`computation.${part}.${kind}`], `computation.${part}.${kind}`);
});

test("AFT-local's biases end where its window does, and AFT-full's are the product everywhere", () => {
  const [u, v] = [
    { shape: [3, 2], data: [1, 2, 3, 4, 5, 6] },
    { shape: [3, 2], data: [1, 0, 0, 1, 1, 1] },
  ];
  assert.deepEqual([...biasByPosition(u, v).data], [1, 2, 3, 3, 4, 7, 5, 6, 11]);
  assert.deepEqual([...biasByPosition(u, v, 2).data], [1, 2, 0, 3, 4, 7, 0, 6, 11]);
});

test("a bounded score is c · tanh(x / c)", () => {
  const found = elementOf(
    { op: "softcap", of: ["uncapped_scores"], gives: "scores" },
    () => matrix([[3, -0.5]]),
    /** @type {any} */ ({
      n_head: 1,
      scale: null,
      softcap: 2,
      roles: { uncapped_scores: { dims: "query key" }, scores: { dims: "query key" } },
    }),
    { head: 0, row: 0, col: 0 },
  );
  near(found?.total ?? 0, 2 * Math.tanh(1.5));
});
