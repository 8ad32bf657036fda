import assert from "node:assert/strict";
import { test } from "node:test";
import { logitRows, strongestHeads } from "../../static/views/prediction/cards.js";
import { scaleFor } from "../../static/views/prediction/token.js";

const term = (part, value, { attention = null, layer = null, head = null } = /** @type {any} */ ({})) => ({
  part,
  value,
  attention,
  layer,
  head,
});
const TERMS = [
  term("embedding", 0.5),
  term("position", 0.25),
  term("head", 1, { attention: "self", layer: 0, head: 0 }),
  term("head", -2, { attention: "self", layer: 0, head: 1 }),
  term("attention_bias", 4, { attention: "self", layer: 0 }),
  term("ffn", 8, { layer: 0 }),
  term("ffn_bias", 16, { layer: 0 }),
  term("edited", 32, { attention: "self", layer: 1 }),
  term("norm_bias", 64),
  term("output_bias", 128),
];

test("a logit's rows are where its terms were written, the biases last", () => {
  const rows = logitRows(TERMS).map(({ part, layer, value }) => [part, layer, value]);
  assert.deepEqual(rows, [
    ["start", null, 0.75],
    ["attention", 0, -1],
    ["ffn", 0, 8],
    ["attention", 1, 32],
    ["biases", null, 212],
  ]);
});

test("self- and cross-attention of a layer are two rows", () => {
  const rows = logitRows([
    term("head", 1, { attention: "decoder", layer: 0, head: 0 }),
    term("head", 2, { attention: "cross", layer: 0, head: 0 }),
  ]);
  assert.deepEqual(
    rows.map(({ attention, value }) => [attention, value]),
    [
      ["decoder", 1],
      ["cross", 2],
    ],
  );
});

test("the strongest heads are those that change the logit most, either way", () => {
  assert.deepEqual(
    strongestHeads(TERMS, 1).map(({ head }) => head),
    [1],
  );
});

test("bars begin on the log scale where the first token is far ahead", () => {
  const scale = (...shares) => scaleFor(shares.map((before) => ({ before })));
  assert.deepEqual([scale(0.98, 0.007), scale(0.4, 0.3), scale(1)], ["log", "linear", "linear"]);
});
