/** What is computed once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { memo } from "../../static/model/memo.js";

/** A memo of the number of its runs so far. */
function counting() {
  let runs = 0;
  return memo((/** @type {[object, ...any[]]} */ ..._) => ++runs);
}

test("the same arguments are computed once", () => {
  const count = counting();
  const [a, b] = [{}, {}];
  assert.deepEqual([count(a), count(b), count(a), count(b)], [1, 2, 1, 2]);
});

test("objects are the same by identity, all else by value", () => {
  const count = counting();
  const a = {};
  assert.deepEqual([count(a, [1]), count(a, [1])], [1, 2]);
  assert.deepEqual([count(a, "x", null), count(a, "x", null), count(a, "x", undefined), count(a, "x")], [3, 3, 4, 5]);
});

test("a result may be undefined", () => {
  let runs = 0;
  const nothing = memo((/** @type {object} */ _) => void runs++);
  const a = {};
  nothing(a);
  nothing(a);
  assert.equal(runs, 1);
});

test("what throws is computed again", () => {
  let runs = 0;
  const failing = memo((/** @type {object} */ _) => {
    if (++runs === 1) throw new Error("once");
    return runs;
  });
  const a = {};
  assert.throws(() => failing(a), /once/);
  assert.equal(failing(a), 2);
});

test("a result can depend on a part of the arguments", () => {
  let runs = 0;
  const first = memo(
    (/** @type {{data: object}} */ _, /** @type {string} */ __) => ++runs,
    ({ data }) => [data],
  );
  const data = {};
  assert.deepEqual([first({ data }, "a"), first({ data }, "b"), first({ data: {} }, "a")], [1, 1, 2]);
});
