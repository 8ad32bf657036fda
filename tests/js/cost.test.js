/** What attention costs, at any length: hand-worked values; and names that make room for each other. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { curveTable, spreadApart } from "../../static/chart/curves/log_chart.js";
import { costFormula, count, factorAt, gathered, megabytes, product } from "../../static/views/cost/counts.js";

const sizes = { d: 8, h: 2, s: 3, r: 5, c: 7 };
const scores = [
  { what: "scores", of: ["T", "T", "d"] },
  { what: "values", of: ["T", "T", "d"] },
  { what: "scale", of: ["T", "T", "h"] },
];

test("a factor is a number, a size, or grows with the tokens", () => {
  assert.deepEqual(
    ["4", "d", "T", "2T−1", "near"].map((factor) => factorAt(factor, 5, sizes)),
    [4, 8, 5, 9, 5 + 4 + 3],
  );
  assert.equal(factorAt("near", 2, sizes), 2 + 1, "a window wider than the text");
});

test("terms add up to products of shapes", () => {
  assert.equal(count(scores, 10, sizes), 2 * 100 * 8 + 100 * 2);
  assert.equal(count([{ what: "weights", of: ["T", "T"] }], 10_000, sizes), 1e8);
  assert.equal(megabytes(4e8), "400\u202fMB");
});

test("a formula gathers like terms", () => {
  assert.deepEqual(gathered(scores), [
    { n: 2, of: ["T", "T", "d"] },
    { n: 1, of: ["T", "T", "h"] },
  ]);
  assert.equal(product(["T", "T", "d"]), "T²·d");
  assert.equal(costFormula(scores), "2·T²·d + T²·h");
});

test("names at the ends of curves do not overlap, and stay in the picture", () => {
  assert.deepEqual(spreadApart([10, 12, 40], 15, 100), [10, 25, 40]);
  assert.deepEqual(spreadApart([90, 91, 92], 15, 100), [70, 85, 100]);
});

test("curves are saved as a table with a line for each x, empty where a curve has none", () => {
  const curve = (/** @type {string} */ name, /** @type {[number, number][]} */ ...points) => ({
    name,
    look: "",
    points: points.map(([x, y]) => ({ x, y })),
  });
  const curves = [curve("a", [128, 4], [32, 5]), curve("b", [32, 6], [1024, 3])];
  assert.deepEqual(curveTable({ curves, titles: { x: "tokens", y: "loss" } }), [
    ["tokens", "a", "b"],
    [32, 5, 6],
    [128, 4, ""],
    [1024, "", 3],
  ]);
});
