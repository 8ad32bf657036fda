/** What moved and what leaks between two runs whose tokens compare() aligns. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { headChanges, leakRows, movedShare } from "../../static/model/compare/measure.js";
import { sidesAfter } from "../../static/model/compare/runs.js";
import { DEFAULTS } from "../../static/state/store.js";

/** @import { State } from "../../static/state/store.js" */

const { decoder, translator } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const IDS = [4, 7, 9];
/** @param {Partial<State>} more */
const state = (more) => ({ ...DEFAULTS, model: "tiny", ids: IDS, compare: true, ...more });
/** Rows of weights that sum to 1, of `size` keys. @param {number} size @param {number} seed */
function weightsOf(size, seed) {
  const raw = Array.from({ length: size * size }, (_, i) => 1 + ((7 * i + seed) % 5) + (i % 3));
  const sums = Array.from({ length: size }, (_, row) =>
    raw.slice(row * size, (row + 1) * size).reduce((a, b) => a + b),
  );
  return Float64Array.from(raw, (one, i) => one / sums[Math.floor(i / size)]);
}
/** @param {ArrayLike<number>} data @param {number} size @param {number} start @param {number} [end] @returns {any} */
const square = (data, size, start = 0, end = size) => ({ data, size, real: { start, end } });
/** @param {any} asked @param {any} [from] @returns {{queries: any, keys: any}} */
function between(asked, from = asked) {
  const { source } = sidesAfter(asked, decoder, from);
  return { queries: source, keys: source };
}
/** @param {number} actual @param {number} expected */
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);

test("the same tokens in another order have the same weights in other places: nothing moved", () => {
  const [order, before] = [[2, 0, 1], weightsOf(3, 1)]; // token i of A is token order[i] of B
  const after = new Float64Array(9);
  order.forEach((row, i) => order.forEach((col, j) => (after[row * 3 + col] = before[i * 3 + j])));
  const against = { input: { token_ids: [IDS[1], IDS[2], IDS[0]] } };
  near(movedShare(square(before, 3), square(after, 3), between(state({ against }))), 0);
  assert.ok(movedShare(square(before, 3), square(after, 3), between(state({}))) > 0.05, "place by place it did");
});

test("weight on PADs that the other run lacks has moved, whichever run has them", () => {
  const [alone, padded] = [weightsOf(3, 1), weightsOf(5, 2)];
  let total = 0;
  for (let row = 0; row < 3; row++) {
    for (let col = 0; col < 5; col++)
      total += Math.abs(padded[(row + 2) * 5 + col] - (col < 2 ? 0 : alone[row * 3 + col - 2]));
  }
  const more = state({ against: { pad: { count: 2 } } });
  near(movedShare(square(alone, 3), square(padded, 5, 2), between(more)), total / 2 / 3);
  const fewer = state({ padCount: 2, against: { pad: { count: 0 } } });
  near(movedShare(square(padded, 5, 2), square(alone, 3), between(fewer)), total / 2 / 3);
});

test("PADs of both runs are the same keys", () => {
  const both = state({ padCount: 2, against: { masks: { padding: false } } });
  const one = weightsOf(5, 3);
  near(movedShare(square(one, 5, 2), square(one, 5, 2), between(both)), 0);
});

test("the leaks are those of the run after, in the rows of the shown one", () => {
  const against = { input: { token_ids: [IDS[1], IDS[2], IDS[0]] }, pad: { count: 1 } };
  const after = weightsOf(4, 1);
  const tokens = IDS.map((id, index) => ({ id, index }));
  const shown = /** @type {any} */ ({ tokens, real: { start: 0, end: 3 } });
  const rows = leakRows(square(after, 4, 1), shown, between(state({ against })).queries);
  assert.deepEqual(
    rows.map(({ token }) => token.index),
    [0, 1, 2],
  );
  const sum = (/** @type {number} */ row, /** @type {number} */ start) =>
    after.slice(row * 4 + start, row * 4 + 4).reduce((a, b) => a + b, 0);
  [3, 1, 2].forEach((row, index) => {
    near(rows[index].pad, after[row * 4]);
    near(rows[index].future, sum(row, row + 1));
  });
});

test("heads are compared where both of their sides correspond", () => {
  const asked = state({ ids: null, text: "cat", target: "neko", against: { target: "inu" } });
  const sides = sidesAfter(asked, translator);
  const side = { tokens: [0, 1].map((index) => ({ index })), real: { start: 0, end: 2 } };
  /** @param {number} seed @returns {any} */
  const run = (seed) => ({
    sides: { source: side, target: side },
    weights: {
      tensors: Object.fromEntries(
        translator.description.attentions.flatMap((/** @type {any} */ one) =>
          one.roles.pattern.taps.map((/** @type {string} */ tap) => [
            tap,
            { shape: [1, 2, 2], data: weightsOf(2, seed) },
          ]),
        ),
      ),
    },
  });
  const found = headChanges({ before: run(1), after: run(2), sides }, translator);
  assert.deepEqual([...new Set(found.map(({ attention }) => attention))], ["encoder"]);
});
