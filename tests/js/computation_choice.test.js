/** Which element of a result the walk explains (static/views/computation/choice.js). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceOf, chosenCell, followed } from "../../static/views/computation/choice.js";

const D = 4;
/** Two tokens, three heads of four columns; the largest is head 0's, the largest of head 2 is column 9. */
const matrix = { shape: [2, 12], data: Float32Array.from([9, 0, 0, 0, 0, 0, 0, 0, 1, -3, 2, 0, ...Array(12).fill(0)]) };
const band = (head) => /** @type {[number, number]} */ ([head * D, (head + 1) * D]);
const projection = (head) =>
  /** @type {any} */ ({ result: { matrix, band: band(head) }, rows: "query", cols: "feature" });
const context = (kind) => /** @type {any} */ ({ query: 0, key: 1, answer: null, step: { kind } });
const state = (more) => /** @type {any} */ ({ cell: null, ffnUnit: null, ...more });

test("it is one of the open head's columns", () => {
  assert.deepEqual(chosenCell(context("q"), projection(2), state({})), [0, 9]);
  assert.deepEqual(chosenCell(context("q"), projection(0), state({})), [0, 0]);
});

test("a column chosen in this head is kept, one of another head is not", () => {
  assert.deepEqual(chosenCell(context("q"), projection(2), state({ cell: [0, 11] })), [0, 11]);
  assert.deepEqual(chosenCell(context("q"), projection(2), state({ cell: [0, 5] })), [0, 9]);
});

test("choosing a column of another head opens that head", () => {
  assert.equal(choiceOf(context("q"), projection(2), [0, 5]).head, 1);
  assert.equal("head" in choiceOf(context("q"), projection(2), [0, 9]), false);
  const whole = /** @type {any} */ ({ result: { matrix }, rows: "query", cols: "feature" });
  assert.equal("head" in choiceOf(context("wo"), whole, [0, 5]), false);
});

test("an FFN step explains the unit that the inspector explains", () => {
  const units = /** @type {any} */ ({ result: { matrix }, rows: "query", cols: "feature" });
  for (const kind of ["w1", "relu"]) {
    assert.deepEqual(chosenCell(context(kind), units, state({ cell: [0, 9] })), [0, 0], "the one that fires most");
    assert.deepEqual(chosenCell(context(kind), units, state({ cell: [0, 9], ffnUnit: 10 })), [0, 10]);
    assert.equal(choiceOf(context(kind), units, [0, 3]).ffnUnit, 3);
  }
});

test("the same dimension is followed from one head to all heads and back", () => {
  const alone = /** @type {any} */ ({
    result: { matrix: { shape: [2, D], data: Float32Array.of(9, 0, 0, 0, 9, 0, 0, 0) } },
  });
  const z = { ...alone, rows: "query", cols: "feature" };
  const of = (kind) => ({ ...context(kind), head: 2 });
  assert.deepEqual(
    chosenCell(of("av"), z, state({ cell: [0, 10] })),
    [0, 2],
    "column 10 of all is dimension 2 of head 2",
  );
  assert.deepEqual(chosenCell(of("concat"), projection(2), state({ cell: [0, 2] })), [0, 10]);
});

test("the next step follows a shown dimension, never a key or a unit", () => {
  const picture = (cols) => /** @type {any} */ ({ cols });
  const step = (kind) => /** @type {any} */ ({ kind });
  assert.deepEqual(followed(picture("feature"), [0, 7], step("av")), { cell: [0, 7] });
  assert.deepEqual(followed(picture("key"), [0, 7], step("softmax")), {});
  assert.deepEqual(followed(picture("feature"), [0, 7], step("relu")), {});
});
