/** Numbers and labels in a CSV file (static/export/csv.js). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { matrixCsv } from "../../static/export/csv.js";

/** 3,000 float32 of all magnitudes: bit patterns of a linear congruential generator (Numerical Recipes). */
function anyFloats() {
  const bits = new Uint32Array(3000);
  bits.forEach((_, i) => {
    bits[i] = i ? Math.imul(bits[i - 1], 1664525) + 1013904223 : 42;
  });
  return [...new Float32Array(bits.buffer)].filter(Number.isFinite);
}

test("every float32 reads back unchanged", () => {
  const values = Float32Array.from([...anyFloats(), 0, -0, 1e-45, 3.4028235e38, 0.1]);
  /** @param {number} n */
  const axis = (n) => ({ labels: new Array(n).fill("x"), title: "", role: /** @type {const} */ ("") });
  const text = matrixCsv({ values, shape: [1, values.length], rows: axis(1), cols: axis(values.length) });
  const again = text
    .split("\r\n")[1]
    .split(",")
    .slice(1)
    .map((cell) => Math.fround(Number(cell)));
  assert.ok(values.length > 2900);
  assert.deepEqual(again, [...values]); // strict: -0 is not 0
});

test("the corner says what rows and columns are", () => {
  const axis = { labels: ["x"], title: "", role: /** @type {const} */ ("") };
  const cornerOf = (/** @type {object} */ more) =>
    matrixCsv({ values: Float32Array.of(1), shape: [1, 1], rows: axis, cols: axis, ...more })
      .split(",")[0]
      .slice(1);
  assert.equal(cornerOf({}), "position \\ dimension");
  assert.equal(cornerOf({ cols: { ...axis, role: "k" } }), "query \\ key");
  assert.equal(cornerOf({ corner: "row \\ column" }), "row \\ column");
});
