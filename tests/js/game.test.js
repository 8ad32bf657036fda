/** Break the model: what counts as one connection, what is locked, when a puzzle is done, and which one is today's. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readLink } from "../../static/state/link.js";
import { DEFAULTS } from "../../static/state/store.js";
import { linkTo, solvedWords } from "../../static/views/game/draw.js";
import {
  BELOW,
  begun,
  cutEdit,
  hiddenIn,
  isLocked,
  isPlayed,
  judged,
  LOCKED_FROM,
  PUZZLES,
  puzzleOfDay,
} from "../../static/views/game/rules.js";
import { gameState } from "../../static/views/view_states.js";
import { testWith } from "./words.js";

/** @import { Puzzle } from "../../static/views/game/rules.js" */

const read = (/** @type {string} */ file) =>
  JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));
const test = testWith(read("static/i18n/en.json"));
Object.assign(globalThis, { document: { documentElement: { lang: "en", dataset: {} } } });
const { decoder } = read("tests/js/descriptions.json");
/** @type {Puzzle} */
const PUZZLE = {
  ...{ text: "a red car. a red", ids: [1, 2, 3, 4, 1, 2], answer: 3, named: "car", word: null, wanted: null },
  best: [[0, 1, 2, 1]],
};
const cut = (/** @type {any} */ where, more = {}) => ({
  kind: "mask",
  where: { attention: "self", role: "mask", ...where },
  allow: false,
  ...more,
});

test("one connection is one head of one layer: an edit of all heads or layers counts all of them, each once", () => {
  const count = (/** @type {any[]} */ ...edits) => {
    const { cells, others } = hiddenIn(edits, decoder);
    return [cells.length, others];
  };
  const [{ n_layer, n_head }] = decoder.description.attentions;
  const one = cut({ layer: 0, head: 1, query: 5, key: 2 });
  assert.deepEqual(count(one, one), [1, 0]);
  assert.deepEqual(count(cut({ layer: 0, query: 5, key: 2 }), one), [n_head, 0]);
  assert.deepEqual(count(cut({ layer: null, query: 5, key: 2 })), [n_layer * n_head, 0]);
  const head = { kind: "ablate", where: { layer: 0, role: "z", head: 0 } };
  assert.deepEqual(count(head, cut({ layer: 0, query: 5 }), { ...one, allow: true }), [0, 3], "these are none");
});

test("the last token's connections to the answer are locked in the last layers, and each token's to itself", () => {
  const locked = (/** @type {number} */ layer, /** @type {number} */ query, /** @type {number} */ key) =>
    isLocked({ layer, head: 0, query, key }, PUZZLE);
  assert.ok(locked(LOCKED_FROM, 5, 2));
  assert.ok(locked(0, 3, 3));
  assert.ok(!locked(LOCKED_FROM - 1, 5, 2));
  assert.ok(!locked(LOCKED_FROM, 4, 2));
  assert.ok(!locked(LOCKED_FROM, 5, 1));
});

test("it is done when the answer falls below 5 %, or the word leads, with hidden connections alone", () => {
  const edits = [cutEdit([0, 1, 5, 2], "self")];
  const at = (/** @type {number} */ p) => [
    { id: 9, before: 0.9 - p },
    { id: 3, before: p },
  ]; // prettier-ignore
  const done = (/** @type {any} */ candidates, more = {}, made = edits) =>
    judged({ ...PUZZLE, ...more }, made, decoder, candidates).solved;
  assert.equal(done(at(BELOW - 0.001)), true);
  assert.equal(done(at(BELOW + 0.001)), false);
  assert.equal(
    done([
      { id: 9, before: 0.9 },
      { id: 8, before: 0.01 },
    ]),
    true,
    "it is not among the likeliest",
  );
  assert.equal(
    done([
      { id: 9, before: 0.9 },
      { id: 8, before: 0.06 },
    ]),
    false,
    "it may be as likely as the last of them",
  );
  assert.equal(done(null), false);
  assert.equal(done(at(0.3), { word: 9 }), true);
  assert.equal(done(at(0.3), { word: 8 }), false);
  assert.equal(done(at(0), {}, [...edits, cut({ layer: LOCKED_FROM, head: 0, query: 5, key: 2 })]), false);
  assert.equal(done(at(0), {}, [...edits, /** @type {any} */ ({ kind: "no_positions", where: {} })]), false);
});

test("a puzzle is played in its own sentence, with nothing else changed", () => {
  const state = { ...DEFAULTS, ...begun(PUZZLE) };
  assert.ok(isPlayed(state, PUZZLE));
  assert.ok(isPlayed({ ...state, interventions: [cutEdit([0, 0, 1, 0], "self")] }, PUZZLE));
  assert.ok(!isPlayed({ ...state, text: "another" }, PUZZLE));
  assert.ok(!isPlayed({ ...state, causal: false }, PUZZLE));
  assert.ok(!isPlayed({ ...state, padCount: 1 }, PUZZLE));
});

test("each day has its puzzle, and a link leads to one as it begins", () => {
  const day = 86_400_000;
  assert.equal(puzzleOfDay(0), 0);
  assert.equal(puzzleOfDay(day - 1), 0);
  assert.equal(puzzleOfDay(day), 1 % PUZZLES.length);
  assert.equal(puzzleOfDay(PUZZLES.length * day), 0);
  const state = readLink(`/${linkTo(1, PUZZLES[1])}`, [gameState]);
  assert.deepEqual(
    [state.text, state.drawer, gameState.of(/** @type {any} */ (state))],
    [PUZZLES[1].text, "game", { puzzle: 1 }],
  );
});

test("what is said depends on the best known way", () => {
  assert.match(solvedWords(4, 4), /as few as/);
  assert.match(solvedWords(3, 4), /fewer than/);
  assert.match(solvedWords(9, 4), /needs 4/);
});
