/** Where the nodes of a tree of texts stand. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_TREE, visited, wayTo } from "../../static/state/text_tree.js";
import { folded } from "../../static/state/tree_changes.js";
import {
  aimOf,
  beginningOf,
  branchEnd,
  columnEnds,
  columnWidth,
  forkOf,
  lastChoice,
  neighbour,
  offersPair,
  otherEnd,
  placedFrom,
  stubsOf,
} from "../../static/views/generation/tree_layout.js";

const RUN = { model: "gpt", text: "Tom" };
const EDITED = { ...RUN, interventions: [{ kind: "ablate", where: { layer: 5, role: "z", head: 5 } }] };

/** @param {...{run?: any, ids: number[]}} texts  after a prompt of one token */
function treeOf(...texts) {
  let tree = NO_TREE;
  for (const { run = RUN, ids } of texts)
    for (let n = 1; n <= ids.length; n++)
      ({ tree } = visited(tree, run, { ids: [0, ...ids.slice(0, n)], nPrompt: 1 }, () => ({ how: "drawn" }), true));
  return tree;
}

/** Column and row by the node's own id. @param {any} tree @param {number[]} [way] */
const standing = (tree, way = [0]) =>
  placedFrom(tree, way).map(({ at, column, row }) => [...tree.nodes[at].ids, column, row]);

const TREE = treeOf({ ids: [1, 2, 3] }, { ids: [1, 4] }, { ids: [5, 6] }, { ids: [1, 2, 7] });

test("the oldest way keeps the row; a later fork stands nearer, so that no edges cross", () => {
  assert.deepEqual(standing(TREE), [
    [0, 0, 0],
    [1, 1, 0],
    [2, 2, 0],
    [3, 3, 0],
    [7, 3, 1],
    [4, 2, 2],
    [5, 1, 3],
    [6, 2, 3],
  ]);
});

test("a folded node hides what follows, and says how much, unless the page is there", () => {
  const at = TREE.nodes.findIndex((node) => node?.ids[0] === 2);
  const tree = folded(TREE, at, true);
  const all = placedFrom(tree, [0]);
  assert.deepEqual(
    all.map((one) => [tree.nodes[one.at]?.ids[0], one.hidden]),
    [
      [0, 0],
      [1, 0],
      [2, 2],
      [4, 0],
      [5, 0],
      [6, 0],
    ],
  );
  const under = TREE.nodes.findIndex((node) => node?.ids[0] === 7);
  assert.equal(placedFrom(tree, wayTo(tree, under)).length, TREE.nodes.length);
});

test("another run begins where the edit was made, and stands in the columns of its tokens", () => {
  const tree = treeOf({ ids: [1, 2] }, { run: EDITED, ids: [1, 3] });
  const rows = placedFrom(tree, [0]).map(({ at, column, row, edited }) => [
    tree.nodes[at]?.ids[0],
    column,
    row,
    edited !== null,
  ]);
  assert.deepEqual(rows, [
    [0, 0, 0, false],
    [1, 1, 0, false],
    [2, 2, 0, false],
    [1, 1, 1, true],
    [3, 2, 1, false],
  ]);
});

test("arrow keys walk along a text and between branches, and stop at the ends", () => {
  const all = placedFrom(TREE, [0]);
  const at = (/** @type {number} */ id) => TREE.nodes.findIndex((node) => node?.ids[0] === id);
  const to = (/** @type {number} */ id, /** @type {string} */ key) => {
    const found = neighbour(TREE, all, at(id), `Arrow${key}`);
    return found === null ? null : TREE.nodes[found]?.ids[0];
  };
  assert.deepEqual(
    ["Left", "Right", "Up", "Down"].map((key) => to(2, key)),
    [1, 7, null, 7],
  ); // the shown line goes on to 7
  assert.deepEqual(
    ["Left", "Right", "Up", "Down"].map((key) => to(4, key)),
    [1, null, 7, 6],
  );
  assert.equal(to(0, "Left"), null);
  assert.equal(TREE.nodes[neighbour(TREE, all, at(1), "End") ?? -1]?.ids[0], 3);
  assert.equal(neighbour(TREE, all, at(6), "Home"), 0);
});

test("a branch ends where the shown text does, or along its oldest way", () => {
  const at = (/** @type {number} */ id) => TREE.nodes.findIndex((node) => node?.ids[0] === id);
  assert.deepEqual(
    [1, 2, 7].map((id) => branchEnd(TREE, at(id))),
    [TREE.tip, TREE.tip, TREE.tip],
  );
  assert.deepEqual(
    [5, 4].map((id) => TREE.nodes[branchEnd(TREE, at(id))]?.ids[0]),
    [6, 4],
  );
});

test("the other text is the oldest that left the way where it forked last", () => {
  const at = (/** @type {number} */ id) => TREE.nodes.findIndex((node) => node?.ids[0] === id);
  const fork = (/** @type {number} */ id) => {
    const found = forkOf(TREE, at(id));
    return found && [found.at, found.other].map((one) => TREE.nodes[one]?.ids[0]);
  };
  assert.deepEqual(fork(7), [7, 3]);
  assert.deepEqual(fork(4), [4, 7]); // 2 leads to what is shown
  assert.deepEqual(fork(6), [5, 7]);
  assert.equal(fork(0), null);
  assert.equal(forkOf(treeOf({ ids: [1, 2] }), 2), null);
});

test("after Back, the other text is the longest that was left from there", () => {
  const at = (/** @type {number} */ id) => TREE.nodes.findIndex((node) => node?.ids[0] === id);
  const other = (/** @type {number} */ id) => TREE.nodes[otherEnd(TREE, at(id)) ?? -1]?.ids[0];
  assert.deepEqual([0, 1, 2].map(other), [3, 3, 3]);
  assert.deepEqual([7, 4, 5].map(other), [undefined, undefined, undefined]); // only the shown text, or an own one, goes on
});

test("a text alone is not offered to be compared; with A chosen, another text is", () => {
  const alone = treeOf({ ids: [1, 2, 3] });
  const all = placedFrom(alone, [0]);
  assert.equal(offersPair(all, []), false);
  assert.equal(offersPair(all, [3]), false); // A itself
  assert.equal(offersPair(all, [1]), true); // its beginning
  assert.equal(offersPair(placedFrom(TREE, [0]), []), true);
});

test("a column is as wide as its widest label", () => {
  const all = placedFrom(TREE, [0]);
  const width = (/** @type {{at: number}} */ { at }) => (TREE.nodes[at]?.ids[0] === 4 ? 90 : 30);
  assert.deepEqual(columnEnds(all, width, 50), [30, 80, 170, 220]);
});

test("columns share the pane in steps, between what a word needs and what is easy to follow", () => {
  assert.equal(columnWidth(1, 900, 1), 150);
  assert.equal(columnWidth(3, 480, 1), 120); // a few fill the pane
  assert.equal(columnWidth(7, 630, 1), 70); // as if they were nine
  assert.equal(columnWidth(9, 630, 1), 70);
  assert.equal(columnWidth(10, 630, 1), 52.5);
  assert.equal(columnWidth(40, 630, 1), 48); // the rest is scrolled to
  assert.equal(columnWidth(40, 630, 2), 96);
  assert.equal(columnWidth(3, 0, 1), 48); // its drawer is closed
  assert.equal(columnWidth(40, 320, 1, true), 44); // a finger's, on a phone
  assert.equal(columnWidth(40, 320, 0.5, true), 12); // a short word's, where it is made smaller
});

test("the ways that were not taken hang below their token, in rows that no branch has", () => {
  const tree = treeOf({ ids: [1, 2] }, { ids: [1, 5] });
  const all = placedFrom(tree, wayTo(tree, 2));
  const offers = /** @type {Record<number, [number, number][]>} */ ({
    0: [
      [9, 0.3],
      [1, 0.2],
      [8, 0.1],
      [7, 0.05],
    ],
    1: [
      [5, 0.4],
      [6, 0.2],
      [4, 0.001],
    ],
  });
  const offered = (/** @type {number} */ at) => (offers[at] ?? []).map(([id, before]) => ({ id, before }));
  const places = (/** @type {number} */ rows) =>
    stubsOf(tree, all, new Set(wayTo(tree, 2)), offered, rows).map(({ id, column, row, instead }) => [
      id,
      column,
      row,
      instead,
    ]);
  // 1 is written, 5 is a branch, 4 too unlikely; below the branch 5 there is a row left for 6.
  assert.deepEqual(places(3), [
    [9, 1, 1, 1],
    [8, 1, 2, 1],
    [6, 2, 2, 2],
  ]);
  assert.deepEqual(places(2), [[9, 1, 1, 1]]);
  assert.deepEqual(places(1), []);
});

test("what is brought into sight: where two chosen texts part, once; else the chosen token when that is another", () => {
  const [one, two, three, , five] = [1, 2, 3, 4, 5].map((id) => TREE.nodes.findIndex((node) => node?.ids[0] === id));
  const paired = { ...TREE, pair: [three, TREE.nodes.findIndex((node) => node?.ids[0] === 4)] };
  const begun = aimOf({ stand: -1, split: -1, at: -1 }, TREE, three, three);
  assert.equal(begun.at, three);
  const chosen = aimOf(begun, paired, three, three);
  assert.equal(chosen.at, one, "they part after it");
  assert.equal(aimOf(chosen, paired, three, three).at, one, "a redraw keeps it");
  assert.equal(aimOf(chosen, paired, three, two).at, two, "Back shows where it goes");
  assert.equal(aimOf(chosen, { ...paired, pair: [three, five] }, three, three).at, 0, "another text, another place");
  assert.equal(aimOf(chosen, TREE, three, three).at, three, "no longer compared");
});

test("a phone begins with the token after the last fork, or with the last that the reader chose", () => {
  const at = (/** @type {number} */ id) => TREE.nodes.findIndex((node) => node?.ids[0] === id);
  assert.equal(beginningOf(TREE, at(7)), at(7));
  assert.equal(beginningOf(TREE, at(6)), at(5));
  assert.equal(beginningOf(treeOf({ ids: [1, 2] }), 2), null);
  const { tree } = visited(
    TREE,
    RUN,
    { ids: [0, 1, 2, 7, 8], nPrompt: 1 },
    () => /** @type {any} */ ({ how: "taken" }),
    true,
  );
  assert.equal(beginningOf(tree, tree.tip), tree.tip);
});

test("the last token that the reader chose is found on the way to a node", () => {
  const how = (/** @type {number} */ n) =>
    /** @type {any} */ ({ how: n === 2 ? "taken" : n === 3 ? "typed" : "drawn" });
  let tree = NO_TREE;
  for (let n = 1; n <= 5; n++)
    ({ tree } = visited(tree, RUN, { ids: [0, 1, 2, 3, 4, 5].slice(0, n + 1), nPrompt: 1 }, () => how(n), true));
  const at = (/** @type {number} */ id) => tree.nodes.findIndex((node) => node?.ids[0] === id && node.up >= 0);
  assert.equal(lastChoice(tree, at(5)), at(3));
  assert.equal(lastChoice(tree, at(2)), at(2));
  assert.equal(lastChoice(tree, at(1)), -1);
});
