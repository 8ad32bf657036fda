/** The comparison of any two runs. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ABSENT, compare, isUnchanged, rowsChanged } from "../../static/model/compare/compare.js";
import { RUN_DEFAULTS, runOf } from "../../static/state/run.js";

/**
 * @import { Alignment, Comparison } from "../../static/model/compare/compare.js"
 * @import { RunState } from "../../static/state/run.js"
 */

const SOURCE = /** @type {const} */ ("source");
const TARGET = /** @type {const} */ ("target");
const DECODER = { attentions: [{ id: "self", queries: SOURCE, keys: SOURCE }], written: SOURCE };
const TRANSLATOR = {
  attentions: [
    { id: "encoder", queries: SOURCE, keys: SOURCE },
    { id: "decoder", queries: TARGET, keys: TARGET },
    { id: "cross", queries: TARGET, keys: SOURCE },
  ],
  written: TARGET,
};
/** @param {Partial<RunState>} state */
const run = (state) => runOf({ ...RUN_DEFAULTS, model: "tiny", text: "The cat", ...state });
/** @param {Comparison} comparison */
const reasons = ({ pairs }) =>
  Object.fromEntries(pairs.map((pair) => [pair.what === "logits" ? "logits" : pair.attention, pair.reason]));
/** @param {Alignment|null} side @param {number} n */
const places = (side, n) => side && Array.from({ length: n }, (_, i) => side.at(i));

test("masks move no token, and everything can be compared", () => {
  const found = compare(run({}), run({ causal: false }), DECODER);
  assert.deepEqual(places(found.sides.source, 3), [0, 1, 2]);
  assert.deepEqual(reasons(found), { self: null, logits: null });
});

test("PADs on the left move the sentence, and have no counterpart", () => {
  const found = compare(run({ padCount: 2 }), run({}), DECODER);
  assert.deepEqual(places(found.sides.source, 4), [null, null, 0, 1]);
  const back = compare(run({}), run({ padCount: 2 }), DECODER);
  assert.deepEqual(places(back.sides.source, 2), [2, 3]);
});

test("as many PADs on the same side are the same PADs", () => {
  for (const padSide of /** @type {const} */ (["left", "right"])) {
    const [padded, open] = [run({ padCount: 2, padSide }), run({ padCount: 2, padSide, padMask: false })];
    assert.deepEqual(places(compare(padded, open, DECODER).sides.source, 4), [0, 1, 2, 3]);
    const [one, other] = [
      [4, 7],
      [7, 4],
    ].map((ids) => run({ ids, padCount: 1, padSide }));
    const expected = padSide === "left" ? [0, 2, 1] : [1, 0, 2];
    assert.deepEqual(places(compare(one, other, DECODER).sides.source, 3), expected);
  }
});

test("PADs on the right move nothing", () => {
  assert.deepEqual(places(compare(run({ padCount: 2, padSide: "right" }), run({}), DECODER).sides.source, 2), [0, 1]);
});

test("the same ids in another order are the same tokens, equal ones in their order", () => {
  const found = compare(run({ ids: [4, 7, 4, 9] }), run({ ids: [9, 4, 4, 7], padCount: 1 }), DECODER);
  assert.deepEqual(places(found.sides.source, 4), [2, 4, 3, 1]);
  assert.deepEqual(reasons(found), { self: null, logits: null });
});

test("another sentence, number of tokens or model gives its reason", () => {
  assert.deepEqual(reasons(compare(run({}), run({ text: "A dog" }), DECODER)), {
    self: "other_source",
    logits: "other_source",
  });
  assert.equal(compare(run({ ids: [1, 2] }), run({ ids: [1, 2, 3] }), DECODER).sides.source, null);
  assert.equal(compare(run({ ids: [1, 2] }), run({ ids: [1, 3] }), DECODER).sides.source, null);
  const found = compare(run({}), run({ model: "other" }), DECODER);
  assert.deepEqual(reasons(found), { self: "other_model", logits: "other_model" });
});

test("with another target, the encoder can still be compared", () => {
  const found = compare(run({ target: "So" }), run({ target: "Also" }), TRANSLATOR);
  assert.deepEqual(reasons(found), {
    encoder: null,
    decoder: "other_target",
    cross: "other_target",
    logits: "other_target",
  });
});

test("the model's own targets are the same for the same sentence", () => {
  assert.notEqual(compare(run({}), run({ padCount: 2 }), TRANSLATOR).sides.target, null);
  assert.equal(compare(run({}), run({ text: "A dog" }), TRANSLATOR).sides.target, null);
});

test("the change of a head's output is after − before, whichever run is shown", () => {
  const z = { shape: [2, 2], data: new Float32Array([1, -2, 3, 4]) };
  const off = { shape: [2, 2], data: new Float32Array(4) }; // the head is off: all zeros
  const alike = { at: (/** @type {number} */ row) => row };
  assert.deepEqual([...rowsChanged(off, z, alike, false).values], [-1, 2, -3, -4]);
  assert.deepEqual([...rowsChanged(z, off, alike, true).values], [-1, 2, -3, -4]);
  const same = rowsChanged(z, z, alike, false);
  assert.ok(isUnchanged(same.values) && !isUnchanged(z.data));
  assert.ok(!same.forbidden.some(Boolean));
});

test("a PAD's row has no change, and the others are compared with their own tokens", () => {
  const padded = { shape: [3, 1], data: new Float32Array([9, 5, 7]) };
  const alone = { shape: [2, 1], data: new Float32Array([1, 2]) };
  const { values, forbidden } = rowsChanged(padded, alone, { at: (row) => (row === 0 ? null : row - 1) }, false);
  assert.deepEqual([...values], [0, 4, 5]);
  assert.deepEqual([...forbidden], [ABSENT, 0, 0]);
});
