/** What the bar of a draw names, and how a piece of a word is called in the tree. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { find, NO_TREE, visited } from "../../static/state/text_tree.js";
import { namedIn } from "../../static/views/generation/draw_bar.js";
import { wordAfter } from "../../static/views/generation/tree_picture.js";

/** @param {string} name @param {number} from @param {number} to @param {boolean} [hit] */
const part = (name, from, to, hit = false) => ({ id: name.length, from, to, hit, text: [name] });

test("shares are named where there is room, and what the number falls on not for itself alone", () => {
  const [car, ball, it] = [part("car", 0, 0.5), part("ball", 0.5, 0.95, true), part("it", 0.95, 1)];
  assert.deepEqual(
    namedIn([car, ball, it], 0.6, () => 40),
    [car, ball],
  );
  const alone = [part("car", 0, 0.95, true), part("ball", 0.95, 1)];
  assert.deepEqual(
    namedIn(alone, 0.6, () => 11),
    [],
    "over the bar stands what the number falls on",
  );
});

test("in the tree a piece of a word has the mark that it has among the candidates", () => {
  const run = { model: "gpt", text: "whe" };
  const { tree } = visited(NO_TREE, run, { ids: [1, 2], nPrompt: 1 }, () => ({ how: "drawn" }));
  const texts = ["", " whe", "el", " car"].map((text, id) => ({ id, text, bytes: "", partial: false, special: false }));
  const session = /** @type {any} */ ({ word: (/** @type {number} */ id) => texts[id] });
  const root = find(tree, run, [1]);
  assert.equal(wordAfter(session, tree, root, 2).piece, true);
  assert.equal(wordAfter(session, tree, root, 3).piece, undefined, "a word of its own");
});
