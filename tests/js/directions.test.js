/** Which way a translator translates a text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { directionOf, wayBack } from "../../static/shell/sentence/translation_sides.js";

/** @import { Translator } from "../../static/shell/sentence/translation_sides.js" */

/** @type {Translator} */
const both = {
  directions: [
    ["en", "ja"],
    ["ja", "en"],
  ],
};
/** @type {Translator} */
const there = { directions: [["en", "ja"]] };

test("the script of most letters says which way", () => {
  for (const [text, from] of [
    ["I like cats.", "en"],
    ["猫が好きです。", "ja"],
    ["コーヒー", "ja"],
    ["スーパー", "ja"],
    ["ＡＢＣ社のロゴです", "ja"],
    ["The word 猫 means cat.", "en"],
    ["", "en"],
    ["12 + 3", "en"],
  ])
    assert.equal(directionOf(both, text)?.[0], from, text);
});

test("a model of one direction has it whatever is typed, and no way back", () => {
  assert.deepEqual(directionOf(there, "猫が好きです。"), ["en", "ja"]);
  assert.equal(wayBack(there, ["en", "ja"]), null);
  assert.equal(directionOf({}, "a"), null);
  assert.equal(wayBack({}, null), null);
});

test("the way back has the languages swapped", () => {
  assert.deepEqual(wayBack(both, ["en", "ja"]), ["ja", "en"]);
  assert.deepEqual(wayBack(both, ["ja", "en"]), ["en", "ja"]);
});
