/** What a head gives that predicts nothing: its numbers with their labels. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { givenIn, highest, spanOf } from "../../static/views/head_answer.js";
import { PANELS } from "../../static/views/panels.js";

const tensor = (/** @type {number[]} */ shape, /** @type {number[]} */ ...data) => ({
  shape,
  data: Float32Array.from(data),
});

test("an answer starts where the start is highest and ends where the end is, each on its own", () => {
  const logits = { dims: "position label", labels: ["start", "end"] };
  const given = givenIn(tensor([3, 2], 1, 0, 5, -1, 2, 4), logits);
  assert.deepEqual(given.rows, [
    [1, 0],
    [5, -1],
    [2, 4],
  ]);
  assert.deepEqual(spanOf(given), [1, 2]);
  assert.equal(spanOf({ ...given, labels: ["bad", "good"] }), null);
});

test("a score for each token, for each label, or one for the text", () => {
  assert.deepEqual(givenIn(tensor([3], 1, 2, 3), { dims: "position", labels: ["replaced"] }), {
    rows: [[1], [2], [3]],
    labels: ["replaced"],
    ofTokens: true,
  });
  const scores = { rows: [[1, 2, 3]], labels: ["0", "1", "2"], ofTokens: false };
  assert.deepEqual(givenIn(tensor([3], 1, 2, 3), { dims: "label" }), scores);
  assert.equal(highest([1, 3, 3]), 1);
});

test("the panel is there where a head gives something that predicts nothing", () => {
  const panel = PANELS.find(({ id }) => id === "given");
  const has = (/** @type {string} */ predicts, /** @type {string} */ dims) =>
    panel?.has?.(/** @type {any} */ ({ description: { predicts, logits: { tap: "logits", dims } } }));
  assert.deepEqual([has("none", "position label"), has("none", "label"), has("none", "position")], [true, true, true]);
  assert.deepEqual(
    [has("none", "position d_model"), has("classes", "class"), has("same", "position vocab")],
    [false, false, false],
  );
});
