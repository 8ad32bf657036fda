/** A classifier's lens as a table: every number stands under its own class. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { classDepths } from "../../static/views/prediction/layers/draw.js";

const named = (/** @type {number} */ n) => Array.from({ length: n }, (_, id) => `class ${id}`);

test("up to ten classes all have a column, in their order", () => {
  const { columns, rows } = classDepths({
    classes: named(3),
    top: [[[2, 0, 1]], [[1, 2, 0]]],
    probability: [[[0.5, 0.3, 0.2]], [[0.9, 0.06, 0.04]]],
  });
  assert.deepEqual(columns, [0, 1, 2]);
  assert.deepEqual(
    rows.map((row) => row.map(({ p }) => p)),
    [
      [0.3, 0.2, 0.5],
      [0.04, 0.9, 0.06],
    ],
  );
});

test("a class that is not listed at a depth keeps its column, and is at most what the last listed one is", () => {
  const { rows } = classDepths({ classes: named(10), top: [[[7, 3]]], probability: [[[0.6, 0.3]]] });
  assert.equal(rows[0].length, 10);
  assert.deepEqual(rows[0][7], { id: 7, p: 0.6, listed: true });
  assert.deepEqual(rows[0][8], { id: 8, p: 0.3, listed: false });
});

test("of many classes, the five that are most probable at the end are followed", () => {
  const { columns, rows } = classDepths({
    classes: named(1000),
    top: [[[900, 1, 2, 3, 4, 5]], [[7, 1, 900, 2, 5, 4]]],
    probability: [[[0.3, 0.2, 0.1, 0.05, 0.04, 0.03]], [[0.3, 0.2, 0.1, 0.05, 0.04, 0.03]]],
  });
  assert.deepEqual(columns, [1, 2, 5, 7, 900]);
  assert.deepEqual(rows[0][3], { id: 7, p: 0.03, listed: false });
  assert.deepEqual(rows[1][3], { id: 7, p: 0.3, listed: true });
});
