/** A tree of texts is a value: it grows by what is written, and keeps what was left. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { comparedNodes } from "../../static/model/written.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { treeIn } from "../../static/state/page_fields.js";
import { DEFAULTS } from "../../static/state/store.js";
import {
  compact,
  find,
  isForked,
  kidsOf,
  MOST_NODES,
  merged,
  NO_TREE,
  nodeAt,
  partedAt,
  textAt,
  visited,
  wayTo,
} from "../../static/state/text_tree.js";
import { grownBy, pairOf, picked, pruned, renamed, undone, withPairAtEnds } from "../../static/state/tree_changes.js";

/** @import { Told, TextTree } from "../../static/state/text_tree.js" */

const PLAIN = { model: "gpt", text: "Tom lost" };
const EDITED = { ...PLAIN, interventions: [{ kind: "ablate", where: { layer: 5, role: "z", head: 5 } }] };
const PROMPT = [10, 11, 12];
const SETTINGS = { temperature: 0.8, top_k: 20 };

/** @param {number} id @param {number} [seed] @returns {Told} */
const drawn = (id, seed = 7) => ({
  ...{ how: "drawn", p: id / 100, after: id / 50, u: 0.25, seed, settings: SETTINGS },
  word: { id, text: ` w${id}`, bytes: Buffer.from(` w${id}`).toString("hex"), partial: false, special: false },
});

/** The tree with these texts, each written token by token. @param {TextTree} tree @param {typeof PLAIN} run @param {number[][]} texts */
function written(tree, run, ...texts) {
  let next = tree;
  for (const text of texts)
    for (let n = 1; n <= text.length; n++) {
      const ids = [...PROMPT, ...text.slice(0, n)];
      next = visited(next, run, { ids, nPrompt: PROMPT.length }, () => drawn(ids[ids.length - 1]), true).tree;
    }
  return next;
}

/** Every text that ends in the tree. @param {TextTree} tree */
const endsOf = (tree) =>
  tree.nodes
    .flatMap((node, at) => (node && kidsOf(tree)[at].length === 0 ? [textAt(tree, at).ids.join(".")] : []))
    .sort();

const TWO = written(NO_TREE, PLAIN, [1, 2, 3], [1, 4]);

test("where two texts part, and how likely all of each is", () => {
  const [a, b] = [find(TWO, PLAIN, [...PROMPT, 1, 2, 3]), find(TWO, PLAIN, [...PROMPT, 1, 4])];
  assert.deepEqual(partedAt(TWO, a, b), [
    { id: 2, p: 0.02, all: 0.01 * 0.02 * 0.03 },
    { id: 4, p: 0.04, all: 0.01 * 0.04 },
  ]);
  assert.equal(partedAt(TWO, nodeAt(TWO, a).up, a), null); // one begins the other
  const given = visited(TWO, PLAIN, { ids: [...PROMPT, 5], nPrompt: PROMPT.length }, () => ({ how: "given" }), true);
  assert.equal(partedAt(given.tree, a, given.at), null); // how likely 5 was is unknown
});

test("texts share what they have in common, and part where another token was written", () => {
  assert.equal(TWO.nodes.length, 5); // the prompt, 1, 2, 3, 4
  assert.deepEqual(endsOf(TWO), ["10.11.12.1.2.3", "10.11.12.1.4"]);
  const at = find(TWO, PLAIN, [...PROMPT, 1]);
  assert.equal(kidsOf(TWO)[at].length, 2);
  assert.deepEqual(textAt(TWO, at), { ids: [...PROMPT, 1], nPrompt: 3 });
  assert.deepEqual(nodeAt(TWO, at), {
    ...{ up: 0, run: 0, ids: [1], how: "drawn", p: 0.01, after: 0.02, u: 0.25, seed: 7, settings: 0 },
  });
});

test("a text that is there grows nothing; going back keeps what follows", () => {
  const { tree, at } = visited(TWO, PLAIN, { ids: [...PROMPT, 1], nPrompt: 3 }, () => assert.fail("it was known"));
  assert.equal(tree, TWO);
  assert.deepEqual(textAt(tree, tree.tip).ids, [...PROMPT, 1, 4]); // what Step would write again
  const back = visited(tree, PLAIN, { ids: PROMPT, nPrompt: 3 }, () => assert.fail("it was known")).tree;
  assert.equal(back.tip, TWO.tip);
  const other = visited(tree, PLAIN, { ids: [...PROMPT, 1, 2], nPrompt: 3 }, () => assert.fail("it was known")).tree;
  assert.deepEqual(textAt(other, other.tip).ids, [...PROMPT, 1, 2]);
  assert.ok(wayTo(other, other.tip).includes(at));
});

test("the same text under an edit is another node, from where the edit was made", () => {
  const both = written(TWO, EDITED, [1, 4, 5]);
  const [plain, edited] = [PLAIN, EDITED].map((run) => find(both, run, [...PROMPT, 1]));
  assert.notEqual(plain, edited);
  const way = wayTo(both, find(both, EDITED, [...PROMPT, 1, 4, 5])).map((at) => nodeAt(both, at).how);
  assert.deepEqual(way, ["prompt", "edited", "drawn", "drawn", "drawn"]);
  assert.deepEqual(textAt(both, find(both, EDITED, [...PROMPT, 1, 4, 5])), { ids: [...PROMPT, 1, 4, 5], nPrompt: 3 });
  // What only stands there under the edit is found without it, too: the page shows the text, and grows nothing.
  assert.ok(find(both, PLAIN, [...PROMPT, 1, 4, 5]) >= 0);
});

test("a token taken inside the prompt ends it there, and the prompt is a branch", () => {
  const { tree, at } = visited(TWO, PLAIN, { ids: [10, 11, 9], nPrompt: 2 }, () => ({ how: "taken" }));
  assert.deepEqual(textAt(tree, at), { ids: [10, 11, 9], nPrompt: 2 });
  assert.deepEqual(endsOf(tree), ["10.11.12.1.2.3", "10.11.12.1.4", "10.11.9"]);
  assert.deepEqual(textAt(tree, find(tree, PLAIN, [...PROMPT, 1])), { ids: [...PROMPT, 1], nPrompt: 3 });
});

test("a branch can be pruned and named, and both undone; what was written since stays", () => {
  const at = find(TWO, PLAIN, [...PROMPT, 1, 2]);
  const cut = pruned(TWO, at);
  assert.deepEqual(endsOf(cut), ["10.11.12.1.4"]);
  const more = written(cut, PLAIN, [1, 4, 5]);
  assert.deepEqual(endsOf(undone(more)), ["10.11.12.1.2.3", "10.11.12.1.4.5"]);
  const named = renamed(TWO, at, " happy end ");
  assert.equal(nodeAt(named, at).name, "happy end");
  assert.equal(nodeAt(undone(named), at).name, undefined);
  assert.equal(undone(NO_TREE), NO_TREE);
  assert.equal(pruned(TWO, 0), TWO); // the prompt stays
  const tip = pruned(TWO, TWO.tip);
  assert.deepEqual(textAt(tip, tip.tip).ids, [...PROMPT, 1]);
});

test("ways on are added beside the shown text, and are undone at once, except what leads to it", () => {
  const told = (/** @type {number} */ id) => ({ ids: [...PROMPT, 1, id], told: drawn(id, id) });
  const shown = { ids: [...PROMPT, 1], nPrompt: 3 };
  const first = grownBy(TWO, PLAIN, shown, [told(2), told(21)]);
  const more = grownBy(first, PLAIN, shown, [told(22), { ...told(22), ids: [...PROMPT, 1, 22, 5] }]);
  assert.equal(more.tip, TWO.tip);
  assert.deepEqual(endsOf(more), ["10.11.12.1.2.3", "10.11.12.1.21", "10.11.12.1.22.5", "10.11.12.1.4"]);
  assert.deepEqual(endsOf(undone(more)), endsOf(TWO));
  const moved = visited(more, PLAIN, { ids: [...PROMPT, 1, 22], nPrompt: 3 }, () => assert.fail("it was known")).tree;
  assert.deepEqual(endsOf(undone(moved)), ["10.11.12.1.2.3", "10.11.12.1.22", "10.11.12.1.4"]);
  assert.equal(nodeAt(more, find(more, PLAIN, [...PROMPT, 1, 21])).seed, 21);
  const old = written(NO_TREE, { ...PLAIN, text: "Another" }, [7]);
  const fresh = grownBy(old, PLAIN, { ids: PROMPT, nPrompt: 3 }, [{ ids: [...PROMPT, 1], told: drawn(1) }]);
  assert.deepEqual(textAt(fresh, fresh.tip), { ids: PROMPT, nPrompt: 3 });
  assert.equal(find(undone(fresh), PLAIN, PROMPT), fresh.tip, "the prompt stays");
});

test("ways on in a full tree leave its end, what is shown and what the reader went to meanwhile", () => {
  const texts = Array.from({ length: MOST_NODES - 2 }, (_, i) => [100 + i]);
  let tree = written(NO_TREE, PLAIN, [1, 2, 3], ...texts, [1, 2, 3]); // the oldest end is the shown one
  const [shown, meanwhile] = [[1, 2], [600]].map((text) => ({ ids: [...PROMPT, ...text], nPrompt: 3 }));
  for (let way = 0; way < 10; way++) {
    const ways = [5, 6, 7].map((_, i, all) => ({
      ids: [...shown.ids, 1000 + way, ...all.slice(0, i)],
      told: drawn(9, way),
    }));
    tree = grownBy(tree, PLAIN, shown, ways);
    const longest = textAt(tree, find(tree, PLAIN, ways[2].ids));
    assert.deepEqual(longest.ids, ways[2].ids);
  }
  assert.deepEqual(textAt(tree, tree.tip).ids, [...PROMPT, 1, 2, 3]);
  assert.equal(tree.nodes.filter(Boolean).length, MOST_NODES);
  const more = grownBy(tree, PLAIN, shown, [{ ids: [...shown.ids, 2000], told: drawn(9) }], meanwhile);
  assert.deepEqual(textAt(more, more.tip).ids, meanwhile.ids);
});

test("a pruned branch comes back with its text though the prompt was split meanwhile", () => {
  const named = renamed(TWO, 0, "the prompt");
  const cut = pruned(named, find(named, PLAIN, [...PROMPT, 1]));
  const { tree, at } = visited(cut, PLAIN, { ids: [10, 9], nPrompt: 1 }, () => ({ how: "taken" }));
  assert.deepEqual(endsOf(tree), ["10.11.12", "10.9"]);
  const back = undone(tree);
  assert.deepEqual(endsOf(back), ["10.11.12.1.2.3", "10.11.12.1.4", "10.9"]);
  assert.deepEqual(textAt(back, at).ids, [10, 9]);
  const called = back.nodes.findIndex((node) => node?.name === "the prompt");
  assert.deepEqual(textAt(back, called).ids, PROMPT);
});

test("a line of more tokens than nodes are kept is whole, also after a reload", () => {
  const ids = [...PROMPT, ...Array.from({ length: 1200 }, (_, i) => i % 50)];
  const tree = visited(TWO, PLAIN, { ids, nPrompt: 3 }, (index) => drawn(ids[index])).tree;
  assert.deepEqual(textAt(tree, tree.tip).ids, ids);
  const kept = /** @type {TextTree} */ (treeIn(JSON.parse(JSON.stringify(compact(tree)))));
  assert.deepEqual(textAt(kept, kept.tip).ids, ids);
  assert.equal(find(merged(NO_TREE, kept), PLAIN, ids) >= 0, true);
});

test("two nodes are chosen; a third takes the place of the second, and what is pruned leaves", () => {
  const chosen = [1, 2, 3].reduce(picked, TWO);
  assert.deepEqual(chosen.pair, [1, 3]);
  assert.deepEqual(picked(chosen, 1).pair, [3]);
  assert.deepEqual(pruned(chosen, 3).pair, [1]);
});

test("of two texts, the longer one is compared where it is as long as the other", () => {
  const at = (/** @type {number[]} */ ...ids) => find(TWO, PLAIN, [...PROMPT, ...ids]);
  const compared = (/** @type {number[]} */ ...pair) =>
    comparedNodes({ ...DEFAULTS, model: PLAIN.model, text: PLAIN.text, tree: { ...TWO, pair } });
  assert.deepEqual(compared(at(1, 2, 3), at(1, 4)), [at(1, 2), at(1, 4)]);
  assert.deepEqual(compared(at(1, 4), at(1, 2, 3)), [at(1, 4), at(1, 2)]);
  assert.deepEqual(compared(at(1, 2, 3), at(1)), [at(1, 2, 3), at(1)]); // one begins the other
});

test("what was chosen at the end of a text is at its end when that is written on, and nothing else moves", () => {
  const pair = [find(TWO, PLAIN, [...PROMPT, 1, 2]), find(TWO, PLAIN, [...PROMPT, 1, 4])];
  const before = { ...TWO, pair };
  const after = withPairAtEnds(before, written(before, PLAIN, [1, 4, 5, 6]));
  assert.deepEqual(
    after.pair.map((at) => textAt(after, at).ids.slice(PROMPT.length)),
    [
      [1, 2],
      [1, 4, 5, 6],
    ],
  );
});

test("a text that was chosen in another sentence is not the first of two here", () => {
  const other = visited(picked(TWO, 1), { model: "gpt", text: "Mom" }, { ids: [20, 21], nPrompt: 2 }, () => drawn(21));
  assert.deepEqual(pairOf(other.tree, other.at), []);
  assert.deepEqual(picked(other.tree, other.at).pair, [other.at]);
  assert.deepEqual(pairOf(other.tree, 0), [1]);
});

test("a link replays the tree: the same texts, tokens, draws and names", () => {
  const tree = renamed(written(TWO, EDITED, [1, 6]), 4, "a_b*c é");
  const ids = textAt(tree, tree.tip).ids;
  const state = { ...DEFAULTS, model: "gpt", text: "Tom lost", ids, nPrompt: 3, tree };
  const link = linkOf(state, []);
  const { tree: again, ids: same } = /** @type {any} */ (readLink(link, []));
  assert.deepEqual(same, ids);
  assert.deepEqual(again, JSON.parse(JSON.stringify(compact(tree))));
  assert.deepEqual(textAt(again, again.tip).ids, ids);
  assert.ok(link.indexOf("tree=") > link.indexOf("#"), "no server sees it");
  assert.equal(linkOf({ ...state, tree: again }, []), link);
});

test("a link has a tree only if it forks, is of the shown sentence, and fits", () => {
  const line = written(NO_TREE, PLAIN, [1, 2]);
  const state = { ...DEFAULTS, model: "gpt", text: "Tom lost", ids: [...PROMPT, 1, 2], nPrompt: 3 };
  assert.ok(!isForked(line));
  assert.ok(!linkOf({ ...state, tree: line }, []).includes("tree="));
  assert.ok(linkOf({ ...state, tree: TWO }, []).includes("tree="));
  assert.ok(!linkOf({ ...state, text: "Another", tree: TWO }, []).includes("tree="));
  const many = written(NO_TREE, PLAIN, ...Array.from({ length: 500 }, (_, i) => [100 + i]));
  assert.ok(!linkOf({ ...state, tree: many }, []).includes("tree="));
});

test("what is no tree is left out", () => {
  const good = JSON.parse(JSON.stringify(compact(TWO)));
  assert.deepEqual(treeIn(good), good);
  const bad = [null, 3, [], {}, { ...good, tip: 99 }, { ...good, nodes: [{ ...good.nodes[0], up: 0 }] }];
  const run = (/** @type {any} */ one) => ({ ...good, runs: [one] });
  bad.push(run({ ...PLAIN, interventions: [3] }), run({ model: 3, text: "" }), run({ model: "gpt" }));
  bad.push({ ...good, nodes: [good.nodes[0], { ...good.nodes[1], p: 1e9 }, ...good.nodes.slice(2)] });
  const odd = ["how", "run", "ids", "p"].map((name) => ({
    ...good,
    nodes: [good.nodes[0], { ...good.nodes[1], [name]: "x" }, ...good.nodes.slice(2)],
  }));
  for (const one of [...bad, ...odd]) assert.equal(treeIn(one), undefined, JSON.stringify(one));
  for (const text of ["", "__", "1*2", "-1*0*10*0__{}", "-1*0*10*0__[]"])
    assert.equal(readLink(`/#tree=${text}`, []).tree, undefined, text);
});

test("two trees merge into one; neither loses a text, and nothing is twice", () => {
  const other = compact(written(written(NO_TREE, PLAIN, [1, 2, 8], [9]), EDITED, [1]));
  const both = merged(TWO, other);
  const all = [...new Set([...endsOf(TWO), ...endsOf(other)])].filter((text) => text !== "10.11.12.1.2").sort();
  assert.deepEqual([...new Set(endsOf(both))], all);
  assert.deepEqual(endsOf(merged(both, other)), endsOf(both));
  assert.deepEqual(textAt(both, both.tip), textAt(other, other.tip));
  assert.deepEqual(merged(NO_TREE, other), other);
});

test("it is bounded: other sentences go first, the shown text stays", () => {
  const old = written(NO_TREE, { ...PLAIN, text: "Another" }, [1, 2, 3]);
  const texts = Array.from({ length: MOST_NODES + 40 }, (_, i) => [100 + i]);
  const full = written(old, PLAIN, ...texts);
  assert.ok(full.nodes.filter(Boolean).length <= MOST_NODES);
  assert.equal(find(full, { ...PLAIN, text: "Another" }, PROMPT), -1);
  assert.ok(find(full, PLAIN, [...PROMPT, ...texts[texts.length - 1]]) >= 0);
});

test("how a token of a link was drawn is known once it is drawn again", () => {
  const ids = [...PROMPT, 1];
  const given = visited(NO_TREE, PLAIN, { ids, nPrompt: 3 }, () => ({ how: "given" })).tree;
  const { tree, at } = visited(given, PLAIN, { ids, nPrompt: 3 }, () => drawn(1), true);
  assert.equal(tree.nodes.length, given.nodes.length);
  assert.deepEqual([nodeAt(tree, at).how, nodeAt(tree, at).p, nodeAt(tree, at).seed], ["drawn", 0.01, 7]);
});
