/** Two texts of the tree side by side: what the last token of each attends to. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { lastRow } from "../../static/views/generation/pair.js";

const { decoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));

test("the last token attends as the open head does, or as all heads of all layers do on average", () => {
  const [attention] = decoder.description.attentions;
  const { n_layer: layers, n_head: heads } = attention;
  const weight = (/** @type {number} */ layer, /** @type {number} */ head, /** @type {number} */ key) =>
    key === (layer + head) % 3 ? 0.8 : 0.1;
  const tensors = Object.fromEntries(
    attention.roles[attention.overview].taps.map((/** @type {string} */ tap, /** @type {number} */ layer) => {
      const all = Array.from({ length: heads * 3 }, (_, i) => weight(layer, Math.floor(i / 3), i % 3));
      return [tap, { shape: [heads, 1, 3], dims: [], data: Float32Array.from(all) }];
    }),
  );
  assert.deepEqual(
    [...(lastRow(tensors, attention, { layer: 1, head: 0 }) ?? [])],
    [...Float32Array.from([0, 1, 2], (_, key) => weight(1, 0, key))],
  );
  const mean = [...(lastRow(tensors, attention, null) ?? [])];
  assert.ok(Math.abs(mean.reduce((sum, one) => sum + one, 0) - 1) < 1e-6);
  for (const [key, found] of mean.entries()) {
    let sum = 0;
    for (let layer = 0; layer < layers; layer++)
      for (let head = 0; head < heads; head++) sum += weight(layer, head, key);
    assert.ok(Math.abs(found - sum / (layers * heads)) < 1e-6);
  }
  assert.equal(lastRow({}, attention, null), null);
});
