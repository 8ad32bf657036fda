/** What tokens are called, and texts cut to a width. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { cutToWidth } from "../../static/model/labels.js";
import { isPart, namesOf, nameText, numberedLabel } from "../../static/model/numbered_names.js";

/** Ten pixels a character. @param {string} text */
const wide = (text) => 10 * [...text].length;

test("a text that fits stays; another has as many characters as fit with the ellipsis, and at least one", () => {
  assert.equal(cutToWidth("banana", 60, wide), "banana");
  assert.equal(cutToWidth("banana", 59, wide), "bana…");
  assert.equal(cutToWidth("banana", 5, wide), "b…");
  assert.equal(cutToWidth("😀😀😀", 20, wide), "😀…", "no half of a character");
});

test("a word that comes twice is told apart by its number", () => {
  const token = (text, index) => /** @type {any} */ ({ text, index, start: 0, end: text.length, bytes: "" });
  const tokens = [" cat", " and", " cat"].map(token);
  assert.deepEqual(
    [0, 1, 2].map((index) => numberedLabel(tokens, index)),
    ["·cat₁", "·and", "·cat₂"],
  );
});

test("a token with a part of a character is called by the character, and which part it is", () => {
  const part = (/** @type {[string, number, number]} */ [bytes, start, end]) =>
    /** @type {any} */ ({ text: "\ufffd", partial: true, special: false, bytes, start, end });
  /** @param {[string, number, number][]} of */
  const called = (of) => namesOf(of.map(part)).map(nameText);
  // 猫 is e7 8c ab, 私の姉 is e7a781 e381ae e5a789
  const cat = /** @type {[string, number, number][]} */ ([
    ["e7", 0, 1],
    ["8c", 0, 1],
    ["ab", 0, 1],
  ]);
  assert.deepEqual(called(cat), ["猫(1/3)", "猫(2/3)", "猫(3/3)"]);
  assert.deepEqual(
    called([
      ["e7a781e381aee5", 2, 5],
      ["a789", 4, 5],
    ]),
    ["私の姉(1/2)", "姉(2/2)"],
  );
  assert.deepEqual(called(cat.slice(0, 2)), ["⟨e7⟩", "⟨8c⟩"], "of a character that is not whole, bytes");
  assert.deepEqual(namesOf(cat.map(part)).map(isPart), [true, true, true]);
  assert.equal(isPart({ word: "cat", nth: 1 }), false);
});
