/** Which words fed what was written. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { attendedFrom, canTell, meanFed, reachedFrom, readerOf, writtenAfter } from "../../static/model/fed.js";

const { decoder, translator } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const OPEN = { attention: null, layer: 1, head: 1 };
const list = (/** @type {Float64Array|undefined} */ numbers) => [...(numbers ?? [])];

/** A trace of 2 layers and 2 heads whose row `row` of a head gives everything to the key (layer + head) % (row + 1). @param {any} model @param {number} n */
function traceOf(model, n) {
  const side = model.description.writes;
  const written = { side, tokens: Array.from({ length: n }), real: { start: 0, end: n } };
  const row = (/** @type {number} */ layer, /** @type {number} */ head, /** @type {number} */ at) =>
    Array.from({ length: n }, (_, key) => (key === (layer + head) % (at + 1) ? 1 : 0));
  return /** @type {any} */ ({ model, written, row, pool: 1, explained: {} });
}

test("the written tokens are those after the prompt, each with the row that predicted it", () => {
  const trace = traceOf(decoder, 5);
  assert.deepEqual(writtenAfter(trace, 3), [
    { at: 3, row: 2 },
    { at: 4, row: 3 },
  ]);
  assert.deepEqual(writtenAfter(trace, 5), []);
  const padded = { ...trace, written: { ...trace.written, real: { start: 1, end: 5 } } };
  assert.deepEqual(writtenAfter(padded, 3), [{ at: 4, row: 3 }]);
});

test("the open head gives its row, all heads their mean", () => {
  const trace = traceOf(decoder, 4);
  assert.deepEqual(list(attendedFrom(trace, "head", OPEN, 2).source), [0, 0, 1, 0]); // layer 1 + head 1
  assert.deepEqual(list(attendedFrom(trace, "heads", OPEN, 2).source), [0.25, 0.5, 0.25, 0]); // sums 0, 1, 1, 2
});

test("the text so far is the mean of its tokens, so it sums to 1 as each of them", () => {
  const trace = traceOf(decoder, 4);
  const all = [1, 2].map((row) => attendedFrom(trace, "head", OPEN, row));
  const sum = list(meanFed(all).source);
  assert.deepEqual(sum, [0.5, 0, 0.5, 0]); // keys 2 % 2 and 2 % 3
  assert.equal(
    sum.reduce((one, other) => one + other, 0),
    1,
  );
});

test("the river gives what is left of a row at the bottom, in each stack", () => {
  const share = Float32Array.from([1, 0, 0.25, 0.75, 0.5, 0.5, 0, 1]);
  const flow = { attention: "self", keys: "source", nQuery: 2, nKey: 2, share };
  const river = /** @type {any} */ ({ stack: "main", side: "source", layers: 2, tokens: 2, flows: [flow] });
  assert.deepEqual(list(reachedFrom(traceOf(decoder, 2), [river], 0).source), [0.625, 0.375]);
});

test("of a translator the attention to the source tells, unless one of the target is open", () => {
  const trace = traceOf(translator, 3);
  assert.equal(readerOf(trace, "encoder")?.id, "cross");
  assert.equal(readerOf(trace, "decoder")?.id, "decoder");
  assert.deepEqual(Object.keys(attendedFrom(trace, "head", { ...OPEN, attention: "cross" }, 1)), ["source"]);
});

test("without the numbers it says so", () => {
  const trace = traceOf(decoder, 3);
  assert.equal(canTell(trace, "river", null), false);
  assert.equal(canTell(trace, "heads", null), true);
  assert.equal(canTell({ ...trace, pool: 2 }, "head", null), false);
});
