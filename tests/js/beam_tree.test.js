/** A beam search as a tree: where its nodes come from, and that none stands on another. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { beamNodes, placeBeams } from "../../static/views/generation/beam_tree.js";

/** @param {number} parent @param {number} id @param {any} fate @param {number} log_p */
const one = (parent, id, fate, log_p) => ({ parent, token: /** @type {any} */ ({ id, text: `t${id}` }), log_p, fate });
const found = (/** @type {number[]} */ ids) => ({
  ...{ tokens: ids.map((id) => ({ id })), text: "", ended: true, log_p: 0, score: 0 },
});

/** Two beams: 1 and 2 go on; from 2 come 4 (END) and 5, from 1 comes 3, which dies. */
const SEARCHED = {
  hypotheses: [found([2, 5, 9]), found([2, 4])],
  steps: [
    [one(0, 1, "open", -1), one(0, 2, "open", -1.2), one(0, 7, "dropped", -4)],
    [one(1, 4, "ended", -1.3), one(1, 5, "open", -1.4), one(0, 3, "open", -2), one(0, 8, "dropped", -5)],
    [one(0, 9, "ended", -1.5), one(1, 6, "dropped", -3), one(0, 6, "dropped", -6)],
  ],
};

test("each token goes on from the beam that was open", () => {
  const nodes = beamNodes(SEARCHED);
  const ways = nodes.map(({ token, up, kind, rank }) => [token.id, up?.token.id ?? null, kind, rank]);
  assert.deepEqual(ways, [
    [1, null, "dead", null],
    [2, null, "found", null],
    [7, null, "dropped", null],
    [4, 2, "found", 1],
    [5, 2, "found", null],
    [3, 1, "dead", null],
    [8, 1, "dropped", null],
    [9, 5, "found", 0],
    [6, 3, "dropped", null],
    [6, 5, "dropped", null],
  ]);
});

test("no node stands on another, and the best text keeps the first row", () => {
  const nodes = beamNodes(SEARCHED);
  const rows = placeBeams(nodes);
  const places = nodes.map(({ step, row }) => `${step} ${row}`);
  assert.equal(new Set(places).size, nodes.length);
  assert.ok(nodes.every(({ row, up }) => row < rows && row >= (up?.row ?? 0)));
  assert.deepEqual(
    nodes.filter(({ row }) => row === 0).map(({ token }) => token.id),
    [2, 5, 9],
  );
});

test("a search of many beams is placed, too", () => {
  const steps = Array.from({ length: 20 }, (_, step) =>
    Array.from({ length: 32 }, (_, i) => one(step ? i % 16 : 0, step * 32 + i, i < 16 ? "open" : "dropped", -i)),
  );
  const nodes = beamNodes({ hypotheses: [], steps });
  const rows = placeBeams(nodes);
  assert.equal(new Set(nodes.map(({ step, row }) => `${step} ${row}`)).size, 20 * 32);
  assert.ok(rows <= 20 * 32);
});
