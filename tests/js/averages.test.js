/** Several heads as one matrix, and attention rollout: against loops over their definitions. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { averageOf, canAverage, rolloutOf } from "../../static/model/averages.js";
import { averageNeeds } from "../../static/views/attention/steps.js";
import { AVERAGES } from "../../static/views/view_states.js";

const [LAYERS, HEADS, N] = [3, 2, 4];
const taps = ["a", "b", "c"];
const attention = /** @type {any} */ ({
  ...{ queries: "source", keys: "source", n_layer: LAYERS, n_head: HEADS, overview: "pattern" },
  roles: { pattern: { taps, dims: "head query key" } },
});

/** Rows that sum to 1, different in every head. @param {number} layer @param {number} head @param {number} query @param {number} key */
const weight = (layer, head, query, key) => {
  const raw = Array.from({ length: N }, (_, j) => 1 + ((7 * layer + 5 * head + 3 * query + 2 * j * j) % 11));
  return raw[key] / raw.reduce((sum, one) => sum + one, 0);
};
/** @param {string} tap */
const tensor = (tap) => {
  const layer = taps.indexOf(tap);
  const data = Float32Array.from({ length: HEADS * N * N }, (_, at) =>
    weight(layer, Math.floor(at / (N * N)), Math.floor(at / N) % N, at % N),
  );
  return { shape: [HEADS, N, N], data };
};
/** @param {number} n */
const range = (n) => [...Array(n).keys()];
const OPEN = { layer: 1, head: 1 };
const pairs = range(LAYERS).flatMap((layer) => range(HEADS).map((head) => [layer, head]));
/** @type {Record<string, number[][]>} */
const OF = {
  heads: pairs.filter(([layer]) => layer === OPEN.layer),
  layers: pairs.filter(([, head]) => head === OPEN.head),
  all: pairs,
};

for (const [over, heads] of Object.entries(OF)) {
  test(`the mean and the maximum over ${over}`, () => {
    const [mean, most] = ["mean", "max"].map((how) =>
      averageOf(/** @type {any} */ (`${how}_${over}`), tensor, attention, OPEN),
    );
    for (const query of range(N)) {
      for (const key of range(N)) {
        const cells = heads.map(([layer, head]) => weight(layer, head, query, key));
        const expected = cells.reduce((sum, one) => sum + one, 0) / cells.length;
        assert.ok(Math.abs(mean[query * N + key] - expected) < 1e-6);
        assert.equal(most[query * N + key], Math.fround(Math.max(...cells)));
      }
    }
  });
}

/** The sum over all paths from a query after a layer down to a key. @param {number} layer @param {number} query @param {number} key @returns {number} */
function naive(layer, query, key) {
  if (layer < 0) return query === key ? 1 : 0;
  return range(N).reduce((sum, middle) => {
    const mean = range(HEADS).reduce((total, head) => total + weight(layer, head, query, middle), 0) / HEADS;
    return sum + ((mean + (query === middle ? 1 : 0)) / 2) * naive(layer - 1, middle, key);
  }, 0);
}

test("a rollout is the sum over all paths", () => {
  const found = averageOf("rollout", tensor, attention, OPEN);
  for (const query of range(N))
    for (const key of range(N)) assert.ok(Math.abs(found[query * N + key] - naive(LAYERS - 1, query, key)) < 1e-6);
  assert.deepEqual(found, rolloutOf(taps.map(tensor)));
});

test("an average needs the layers that it is made of, and nothing is asked for the open head", () => {
  const needs = AVERAGES.map((average) => averageNeeds(average, attention, 1).length);
  assert.deepEqual(needs, [0, 1, 1, 3, 3, 3, 3, 3]);
  assert.deepEqual(averageNeeds("mean_heads", attention, 1), ["tensor:b"]);
});

test("of a long text, or between two sides, less is offered", () => {
  /** @param {any} one @param {number} n */
  const offered = (one, n) => AVERAGES.filter((average) => canAverage(average, one, n, n));
  assert.deepEqual(offered(attention, 4), [...AVERAGES]);
  assert.deepEqual(offered({ ...attention, keys: "target" }, 4), AVERAGES.slice(0, -1));
  assert.deepEqual(offered(attention, 1000), ["head", "mean_heads", "max_heads"]);
  assert.deepEqual(offered(attention, 2000), ["head"]);
  assert.deepEqual(offered({ ...attention, n_head: 1, n_layer: 1 }, 4), ["head"]);
});
