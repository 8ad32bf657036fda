/** What tokens are called, and texts cut to a width. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { cutToWidth } from "../../static/model/labels.js";
import { numberedLabel } from "../../static/model/numbered_names.js";

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
