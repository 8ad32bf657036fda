/** QKᵀ › ÷√d › + M › softmax: which steps an attention has, and what the matrix is at each. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { rowTones } from "../../static/chart/matrix/scale.js";
import { dividesProducts, scalesProducts } from "../../static/model/description.js";
import { biasRole, divisorOf, underRoot } from "../../static/model/weight_arithmetic.js";
import { attentionSteps, openAttentionStep } from "../../static/views/attention/steps.js";
import { dots } from "../../static/views/computation/matrices.js";
import { weightTerms } from "../../static/views/inspector/explanations/weight.js";
import { inLayer, turned } from "../../static/views/rotation.js";
import { attentionState } from "../../static/views/view_states.js";

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
  assert.deepEqual(attentionSteps(SOFTMAX), ["qk", "scaled", "masked", "weights"]);
});

test("an attention is offered the steps that its roles allow", () => {
  assert.deepEqual(attentionSteps(GATED), ["masked", "weights"]);
  assert.deepEqual(attentionSteps(attention(["v"])), []);
  assert.deepEqual(attentionSteps(attention(["scores"])), ["scaled"]);
});

test("scores that are not dot products of q and k alone have no step QKᵀ", () => {
  const relative = attention(["q", "k", "scores", "mask", "pattern"], { overview: "pattern" });
  assert.deepEqual(attentionSteps(relative), ["scaled", "masked", "weights"]);
});

test("what positions alone add is a step, and products that nothing divides have none of ÷ √d", () => {
  const product = { ...scaled, gives: "content_scores" };
  const parts = { scores: ["content_scores", "alibi"] };
  const roles = ["q", "k", "content_scores", "alibi", "scores", "mask", "pattern"];
  const biased = attention(roles, { overview: "pattern", identities: [product], parts, scale: 0.5, d_head: 4 });
  assert.deepEqual(attentionSteps(biased), ["content", "added", "scaled", "masked", "weights"]);
  assert.deepEqual([biasRole(biased), divisorOf(biased), scalesProducts(biased)], ["alibi", 2, true]);
  const bare = { ...SOFTMAX, scale: 1, d_head: 4 };
  assert.deepEqual(attentionSteps(bare), ["scaled", "masked", "weights"]);
  assert.deepEqual([biasRole(bare), divisorOf(bare), scalesProducts(bare)], [null, 1, false]);
});

test("products that another root divides are divided, by a number that is that root’s", () => {
  const three = { ...SOFTMAX, scale: 1 / Math.sqrt(12), d_head: 4 };
  assert.deepEqual([scalesProducts(three), dividesProducts(three), underRoot(divisorOf(three))], [false, true, 12]);
  assert.deepEqual(
    [dividesProducts({ ...three, scale: 1 }), underRoot(divisorOf({ ...three, scale: 0.5 }))],
    [false, 4],
  );
});

test("a link can open every step", () => {
  const { step } = attentionState.fields;
  for (const name of ["content", "distance", "added", "qk", "scaled", "bias", "masked", "feature", "weights"])
    assert.equal(step.read(name), name);
});

test("the weights of a head with a bias are those of its softmax", () => {
  const matrix = (/** @type {number[][]} */ rows) => ({
    shape: [rows.length, rows[0].length],
    data: Float32Array.from(rows.flat()),
  });
  const [q, k] = [
    matrix([[1, 2]]),
    matrix([
      [3, 4],
      [5, 6],
    ]),
  ]; // q·k = 11, 17
  const detail = { mask: matrix([[0, 0]]), pattern: matrix([[0, 0]]) };
  const scoring = { q, k, v: k, distance: null, bias: matrix([[6, 0.5]]), divisor: 1 };
  const terms = weightTerms(/** @type {any} */ (detail), /** @type {any} */ (scoring), 0, 0);
  assert.deepEqual([terms.dot, terms.bias, terms.scaled], [11, 6, 17]);
  assert.ok(Math.abs(terms.weight - 1 / (1 + Math.exp(0.5))) < 1e-12);
});

test("a step that the open attention lacks opens its last", () => {
  const asked = { viewState: attentionState.patch({ step: "qk" }).viewState };
  assert.equal(openAttentionStep(SOFTMAX, asked), "qk");
  assert.equal(openAttentionStep(GATED, asked), "weights");
  assert.equal(openAttentionStep(SOFTMAX, { viewState: {} }), "weights");
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

test("a layer that rotates by a base of its own turns by its angles", () => {
  const bases = attention([], { bases: [160_000, 10_000] });
  const angle = (/** @type {number} */ layer) => turned([1, 0, 0, 0], 1, 3, inLayer(bases, layer)).angle;
  assert.deepEqual([angle(0), angle(1)], [3 * 160_000 ** (-1 / 2), 3 * 10_000 ** (-1 / 2)]);
  assert.equal(inLayer(SOFTMAX, 1), SOFTMAX);
});
