/** What changes in a head, as the server measures it of long texts (tests/model/explain/test_head_changes.py). */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { QUESTIONS } from "../../static/data/explain.js";
import { leakOfHead, movedShare } from "../../static/model/compare/measure.js";
import { DEFAULTS } from "../../static/state/store.js";

/** @import { State } from "../../static/state/store.js" */

const { decoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const { of, was, now, pads, cases } = JSON.parse(readFileSync(new URL("head_changes.json", import.meta.url), "utf8"));

/** @param {number[][]} rows @param {number} start @param {boolean} later */
const square = (rows, start, later) => ({
  data: rows.flat().map((weight) => weight / of),
  size: rows[0].length,
  real: { start, end: rows.length },
  later,
});

for (const { places, causal, ...expected } of cases)
  test(`the page and the server measure alike: ${JSON.stringify(places)}${causal ? ", causal" : ""}`, () => {
    const at = { at: (/** @type {number} */ index) => places[index] };
    const [before, after] = [square(was, 0, causal), square(now, pads, causal)];
    const found = { moved: movedShare(before, after, { queries: at, keys: at }), ...leakOfHead(after) };
    for (const [name, value] of Object.entries(found)) assert.ok(Math.abs(value - expected[name]) < 1e-12, name);
  });

test("of a long text, the server is asked where each token of the run before is in the run after", () => {
  /** @type {State} */
  const state = { ...DEFAULTS, model: "tiny", ids: [4, 7, 9], compare: true, padCount: 2 };
  const trace = /** @type {any} */ ({
    pool: 2,
    model: decoder,
    sides: { source: { real: { start: 2, end: 5 } }, target: null },
  });
  const asked = /** @type {any} */ (QUESTIONS.changes(state, trace));
  assert.deepEqual(asked.places, { source: [2, 3, 4], target: null }, "before has no PADs");
  assert.deepEqual([asked.pad.count, asked.before.pad], [2, undefined]);
  const against = { pad: { count: 0 } };
  const other = /** @type {any} */ (QUESTIONS.changes({ ...state, against }, trace));
  assert.deepEqual(other.places.source, [null, null, 0, 1, 2], "PADs are nowhere");
  assert.equal(QUESTIONS.changes(state, { ...trace, pool: 1 }), null, "of a short text, all weights are here");
});
