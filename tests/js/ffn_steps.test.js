import assert from "node:assert/strict";
import { test } from "node:test";
import { openFfnStep, sharedBy, stepsOf } from "../../static/views/ffn/data.js";

const tap = (name) => ({ tap: name });
const model = (place) => {
  const norm = place && { place, roles: { input: tap("norm.input"), out: tap("norm.out") } };
  const leaves = tap(place === "post" ? "norm.out" : "resid_post");
  const roles = { pre: tap("pre"), post: tap("post") };
  const ffn = { kind: "ffn", reads: tap("resid_mid"), writes: tap("out"), leaves, norm, roles };
  const stack = { id: "decoder", layers: [{ sublayers: [ffn] }] };
  return /** @type {any} */ ({ description: { stacks: [stack], attentions: [{ id: "decoder", stack: "decoder" }] } });
};
const STATE = /** @type {any} */ ({ attention: null, layer: 0, file: null });
const names = (place) => stepsOf(STATE, model(place)).map(({ name }) => name);

test("an FFN's steps come in the model's order", () => {
  assert.deepEqual(names("pre"), ["x", "normed", "pre", "post", "out", "sum"]);
  assert.deepEqual(names("post"), ["x", "pre", "post", "out", "sum", "normed"]);
  assert.deepEqual(names("res-post"), ["x", "pre", "post", "out", "normed", "sum"]);
  assert.deepEqual(names(null), ["x", "pre", "post", "out", "sum"]);
});

test("after a post-norm, the sum is what the norm reads", () => {
  assert.deepEqual(
    stepsOf(STATE, model("post")).map((step) => step.tap),
    ["resid_mid", "pre", "post", "out", "norm.input", "norm.out"],
  );
});

test("a saved trace has the units alone", () => {
  assert.equal(openFfnStep("sum", STATE, model("pre")).name, "sum");
  assert.equal(openFfnStep("sum", { ...STATE, file: "a" }, model("pre")).name, "post");
  assert.equal(openFfnStep("pre", { ...STATE, file: "a" }, model("pre")).name, "pre");
  assert.equal(openFfnStep("normed", STATE, model(null)).name, "post");
});

test("columns are shared by powers of two", () => {
  assert.deepEqual([sharedBy(1024, 150), sharedBy(1024, 128), sharedBy(256, 300), sharedBy(1024, 0)], [8, 8, 1, 1024]);
});
