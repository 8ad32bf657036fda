/** QKᵀ › ÷√d › + M › softmax: which steps an attention has, and what the matrix is at each. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { rowTones } from "../../static/chart/matrix/scale.js";
import { own } from "../../static/stations/attention/own.js";
import { stepOf, stepsOf } from "../../static/stations/attention/steps.js";
import { dots } from "../../static/stations/computation/matrices.js";

/** @param {string[]} roles @param {any} [more] @returns {any} */
const attention = (roles, more = {}) => ({
  roles: Object.fromEntries(roles.map((role) => [role, {}])),
  overview: null,
  identities: [],
  ...more,
});
const scaled = { op: "scaled_product", of: ["q", "k"], gives: "scores" };
const SOFTMAX = attention(["q", "k", "scores", "mask", "pattern"], { overview: "pattern", identities: [scaled] });
const GATED = attention(["v", "mask", "weights"], { overview: "weights" });

test("softmax attention has all four steps, in the order in which they happen", () => {
  assert.deepEqual(stepsOf(SOFTMAX), ["qk", "scaled", "masked", "weights"]);
});

test("an attention is offered the steps that its roles allow", () => {
  assert.deepEqual(stepsOf(GATED), ["masked", "weights"]);
  assert.deepEqual(stepsOf(attention(["v"])), []);
  assert.deepEqual(stepsOf(attention(["scores"])), ["scaled"]);
});

test("scores that are not dot products of q and k alone have no step QKᵀ", () => {
  const relative = attention(["q", "k", "scores", "mask", "pattern"], { overview: "pattern" });
  assert.deepEqual(stepsOf(relative), ["scaled", "masked", "weights"]);
});

test("a step that the open attention lacks opens its last", () => {
  const asked = { own: own.patch({ step: "qk" }).own };
  assert.equal(stepOf(SOFTMAX, asked), "qk");
  assert.equal(stepOf(GATED, asked), "weights");
  assert.equal(stepOf(SOFTMAX, { own: {} }), "weights");
});

test("QKᵀ is what the recorded scores are without ÷ √d", () => {
  const scores = { shape: [1, 2], data: Float32Array.of(1.5, -2) };
  assert.deepEqual([...dots({ scores, q: /** @type {any} */ ({ shape: [1, 4] }) }).data], [3, -4]);
});

test("colours of scores go from the lowest to the highest of their own row", () => {
  const values = Float32Array.of(-30, -20, -10, 7, 7, 7);
  assert.deepEqual([...rowTones(values, [2, 3], null)], [0, 0.5, 1, 1, 1, 1]);
});

test("forbidden cells have no part in the colours of their row", () => {
  const values = Float32Array.of(1, 2, 90);
  assert.deepEqual([...rowTones(values, [1, 3], Uint8Array.of(0, 0, 1))], [0, 1, 0]);
});
