import assert from "node:assert/strict";
import { test } from "node:test";
import { elementOf, headOf, isKnown } from "../../static/model/identities.js";

const matrix = (/** @type {number[][]} */ rows) => ({
  shape: [rows.length, rows[0].length],
  data: Float32Array.from(rows.flat()),
});
const heads = (/** @type {number[][][]} */ all) => ({
  shape: [all.length, all[0].length, all[0][0].length],
  data: Float32Array.from(all.flat(2)),
});
const attention = { n_head: 2, scale: 0.5 };
const of = (/** @type {string} */ op, /** @type {any[]} */ tensors, /** @type {any} */ at) =>
  elementOf({ op, of: tensors.map((_, i) => String(i)), gives: "it" }, (i) => tensors[Number(i)], attention, at);

test("a score is the product of two rows, times the scale of the attention", () => {
  const [q, k] = [heads([[[1, 2]], [[3, 4]]]), heads([[[5, 6]], [[7, 8]]])];
  assert.equal(of("scaled_product", [q, k], { head: 1, row: 0, col: 0 })?.total, (3 * 7 + 4 * 8) / 2);
});

test("a forbidden cell is 0, and so is a row without an allowed key", () => {
  const scores = heads([
    [
      [0, 0, 9],
      [1, 1, 1],
    ],
  ]);
  const mask = heads([
    [
      [0, 0, 1],
      [1, 1, 1],
    ],
  ]);
  const at = (/** @type {number} */ row, /** @type {number} */ col) =>
    of("masked_softmax", [scores, mask], { head: 1, row, col })?.total;
  assert.deepEqual([at(0, 0), at(0, 1), at(0, 2)], [0.5, 0.5, 0]);
  assert.deepEqual([at(1, 0), at(1, 2)], [0, 0]);
});

test("a weighted sum goes over the keys, and names its terms", () => {
  const found = of("weighted_sum", [matrix([[0.25, 0.75]]), matrix([[4], [8]])], { head: 0, row: 0, col: 0 });
  assert.deepEqual([found?.values, found?.total], [[1, 6], 7]);
});

test("the outputs of the heads and the bias are added", () => {
  const found = of("sum_heads", [heads([[[1, 2]], [[3, 4]]]), { shape: [2], data: Float32Array.of(10, 20) }], {
    head: 0,
    row: 0,
    col: 1,
  });
  assert.deepEqual([found?.values, found?.total], [[2, 4], 26]);
});

test("a product is element by element, and parts add up", () => {
  const [a, b] = [matrix([[2, 3]]), matrix([[5, 7]])];
  assert.equal(of("product", [a, b], { head: 0, row: 0, col: 1 })?.total, 21);
  assert.equal(of("sum", [a, b], { head: 0, row: 0, col: 1 })?.total, 10);
});

test("several query heads may share one head of keys", () => {
  const shared = heads([[[1]], [[2]]]);
  assert.deepEqual(
    [0, 1, 2, 3].map((head) => headOf(shared, head, 4).data[0]),
    [1, 1, 2, 2],
  );
});

test("an operation that the page does not know is not an error", () => {
  assert.equal(of("butterfly", [matrix([[1]])], { head: 0, row: 0, col: 0 }), null);
  assert.ok(!isKnown({ op: "butterfly", of: [], gives: "it" }) && !isKnown(null));
  assert.equal(of("product", [matrix([[1]]), undefined], { head: 0, row: 0, col: 0 }), null);
});
