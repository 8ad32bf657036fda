import assert from "node:assert/strict";
import { test } from "node:test";
import { matricesLayout } from "../../static/views/computation/layout.js";

/** Z · W + b = C for one token of 14, 256 wide, as on a laptop. @param {number} height */
function projection(height) {
  const mat = (/** @type {number} */ rows, /** @type {"query"|null} */ whose) => ({
    matrix: { shape: [rows, 256], data: new Float32Array(rows * 256) },
    rows: whose ? Array.from({ length: rows }, (_, i) => `w${i}`) : null,
    whose,
  });
  const mats = [mat(14, "query"), mat(256, null), mat(1, null), mat(14, "query")];
  const options = { width: 801, height, one: { query: 13, key: 4 }, type: 1 };
  return matricesLayout(/** @type {any} */ ({ mats, layout: "column" }), options);
}

test("captions stand on the right where matrices are larger for it, and all ends within the height", () => {
  const low = projection(253);
  assert.deepEqual([low.beside, low.aside], [true, true]);
  assert.ok(low.boxes.reduce((sum, { height }) => sum + height + 8, 0) <= 253);
  const high = projection(900);
  assert.deepEqual([high.beside, high.aside], [true, false]);
});
