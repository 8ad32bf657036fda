/** One head of an attention whose query heads share keys and values (static/data/model_trace.js). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { detailOf } from "../../static/data/request.js";

const HEADS = { q: "head position d_head", k: "kv_head position d_head", v: "kv_head position d_head" };
const CELLS = { pattern: "head query key" };
const roles = Object.fromEntries(
  Object.entries({ ...HEADS, ...CELLS }).map(([role, dims]) => [role, { dims, taps: [role] }]),
);
const attention = /** @type {any} */ ({ id: "self", n_head: 4, n_kv_head: 2, overview: "pattern", roles });
/** A tensor of these heads, with one cell each: the head's number. @param {number[]} heads @returns {any} */
const tensor = (heads) => ({ shape: [heads.length, 1, 1], data: Float32Array.from(heads) });
/** @param {number[]|null} asked @param {number[]} own @param {number[]} shared @param {number} head */
function read(asked, own, shared, head) {
  const tensors = { q: tensor(own), k: tensor(shared), v: tensor(shared), pattern: tensor(own) };
  const detail = detailOf(/** @type {any} */ ({ meta: { heads: asked, masks: {} }, tensors }), attention, 0, head);
  return [detail.q, detail.k, detail.v, detail.pattern].map(({ data }) => data[0]);
}

test("among all heads, a query head reads its group's keys and values", () => {
  for (const head of [0, 1, 2, 3]) {
    const group = Math.floor(head / 2);
    assert.deepEqual(read(null, [0, 1, 2, 3], [0, 1], head), [head, group, group, head]);
  }
});

test("among some heads, too", () => {
  assert.deepEqual(read([3], [3], [1], 3), [3, 1, 1, 3]);
  assert.deepEqual(read([2, 1], [2, 1], [1, 0], 1), [1, 0, 0, 1]);
  assert.deepEqual(read([1, 0], [1, 0], [0], 0), [0, 0, 0, 0]);
});
