/** What tokens are called, and texts cut to a width. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  capOf,
  capsIn,
  cutToWidth,
  isPart,
  namesOf,
  nameText,
  offeredAfter,
  partText,
  quotesAround,
  textOf,
  tokenLabel,
  tokenName,
  visibleText,
} from "../../static/model/labels.js";
import { keptChoice } from "../../static/model/selection.js";
import { shareBetween } from "../../static/river/words/names.js";
import { kindOfToken } from "../../static/ui/token_text.js";
import { testWith } from "./words.js";

Object.assign(globalThis, { document: { documentElement: { lang: "en", dataset: {} } } });

/** Ten pixels a character. @param {string} text */
const wide = (text) => 10 * [...text].length;

test("a text names a mark in quotes or brackets, which its box replaces", () => {
  assert.deepEqual(capsIn("layer 5: “,” attends to “.”₂"), ["layer 5: ", "“,”", " attends to ", "“.”₂"]);
  assert.deepEqual(capsIn('Hide it: ["] (99 %)'), ["Hide it: ", '["]', " (99 %)"]);
  assert.deepEqual(capsIn("[CLS] attends to “red”"), ["[CLS] attends to “red”"]);
});

test("punctuation has a quoted name, and nothing else has", () => {
  const token = (/** @type {string} */ text, more = {}) => ({ text, partial: false, special: false, ...more });
  const markName = (/** @type {ReturnType<typeof token>} */ one) => quotesAround(one)?.join(one.text.trim()) ?? null;
  assert.deepEqual(
    [".", " .", "、", ' "', "?!"].map((text) => markName(token(text))),
    ["“.”", "“.”", "「、」", '["]', "“?!”"],
  );
  assert.deepEqual(
    [" .", "、", '"', " red"].map((text) => quotesAround(token(text))),
    [["“", "”"], ["「", "」"], ["[", "]"], null],
    "a line that draws the mark itself has them around it",
  );
  const others = [token("a"), token(" it's"), token("+"), token(" "), token("\n")];
  for (const one of [...others, token(".", { partial: true }), token(".", { special: true })])
    assert.equal(markName(one), null, JSON.stringify(one));
});

test("a text that fits stays; another has as many characters as fit with the ellipsis, and at least one", () => {
  assert.equal(cutToWidth("banana", 60, wide), "banana");
  assert.equal(cutToWidth("banana", 59, wide), "bana…");
  assert.equal(cutToWidth("banana", 5, wide), "b…");
  assert.equal(cutToWidth("😀😀😀", 20, wide), "😀…", "no half of a character");
});

test("a full stop in a picture is in quotes: it could be dirt", () => {
  const token = (text) => /** @type {any} */ ({ text, bytes: "" });
  assert.deepEqual(namesOf(["sad", ".", " Mom", ".", " "].map(token)).map(nameText), [
    "sad",
    "“.”₁",
    "Mom",
    "“.”₂",
    "·",
  ]);
});

test("what is typed keeps a chosen token before the change, and neither the last one nor a place", () => {
  const words = ["Tom", " was", " sad"].map((text, index, all) => {
    const start = all.slice(0, index).join("").length;
    return { text, index, start, end: start + text.length };
  });
  const side = { side: "source", tokens: words, real: { start: 0, end: 3 } };
  const trace = /** @type {any} */ ({ text: "Tom was sad", readText: "Tom was sad", queries: side, keys: side });
  const kept = (/** @type {number|null} */ query, /** @type {string} */ text) =>
    keptChoice(trace, { query, key: 0, row: null }, text);
  assert.deepEqual(kept(1, "Tom was glad"), { query: 1, key: 0, row: null });
  assert.equal(kept(1, "Tom wasn’t sad").query, null, "the token goes on");
  assert.equal(kept(1, "I ran").query, null);
  assert.equal(kept(1, "I ran").key, null);
  assert.equal(kept(2, "Tom was sad.").query, null, "another token is the last");
  assert.equal(kept(0, "Tom was sad.").query, 0);
});

test("a share that a picture of bytes leaves open is one number, and said to be about it", () => {
  assert.equal(shareBetween({ low: 235.5 / 255, high: 236.5 / 255 }).replaceAll(/[\u00a0\u202f]/g, " "), "≈ 93 %");
  assert.equal(shareBetween({ low: 0.9201, high: 0.9239 }).replaceAll("\u202f", " "), "92 %");
});

test("two equal words are told apart by their numbers", () => {
  const token = (text, index) => /** @type {any} */ ({ text, index, start: 0, end: text.length, bytes: "" });
  const tokens = [" cat", " and", " cat"].map(token);
  assert.deepEqual(namesOf(tokens).map(nameText), ["cat₁", "and", "cat₂"]);
});

testWith({
  "token_kind.bytes": "bytes",
  "token_kind.newline": "new line",
  "token_kind.quote": "quote",
  "token_kind.opening": "opening",
  "token_kind.closing": "closing",
  "token_kind.stop": "stop",
  "token_kind.comma": "comma",
  "token_kind.apostrophe": "apostrophe",
  "token_kind.piece": "on: {word}",
  "token_kind.garbled": "garbled",
})("a chip says what a token is that is not a whole word", () => {
  const token = (text, more = {}) => /** @type {any} */ ({ text, bytes: "", partial: false, special: false, ...more });
  const after = (/** @type {string} */ before, /** @type {any} */ one) => kindOfToken(one, token(before));
  assert.equal(after(" car", token("ries")), "on: carries");
  assert.equal(after(" it", token("'s")), "on: it's");
  assert.equal(after(" car", token(" and")), null);
  assert.equal(after(".", token("She")), null, "a word begins after punctuation");
  assert.equal(after("車", token("を")), null, "without spaces nothing tells where a word begins");
  assert.deepEqual(
    [' "', " “", "”", "「"].map((one) => after(" said", token(one))),
    ["quote", "opening", "closing", "opening"],
    "they look alike",
  );
  assert.equal(after(" said", token("’")), "apostrophe");
  assert.deepEqual(
    [".", " ,", "、"].map((one) => after(" said", token(one))),
    ["stop", "comma", "comma"],
  );
  assert.equal(after(".", token("\n")), "new line");
  assert.deepEqual(
    [after(" said", token(" â")), after("â", token("€")), after("â€", token("œ")), after(" 5", token(" €"))],
    ["garbled", "garbled", "garbled", null],
    "a euro is one",
  );
  assert.equal(after(" a", token("", { partial: true })), "bytes");
});

test("a piece that is offered after the word with which it goes on is called so", () => {
  const token = (text, more = {}) => /** @type {any} */ ({ text, bytes: "", partial: false, special: false, ...more });
  /** @param {string} text @param {any} before */
  const called = (text, before) => {
    const one = offeredAfter(token(text), before);
    return [tokenName(one), ...namesOf([one]).map(nameText)];
  };
  assert.deepEqual(called("ries", token(" car")), ["…ries", "…ries"]);
  assert.deepEqual(called("ries", token(".")), ["ries", "ries"], "there it begins a word");
  assert.deepEqual(called(" red", token(" car")), ["red", "red"]);
  assert.deepEqual(called("ries", undefined), ["ries", "ries"], "before the text there is nothing");
  assert.deepEqual(called("A", token("<|start|>", { special: true })), ["A", "A"]);
  assert.deepEqual(called(".", token(" car")), ["“.”", "“.”"]);
});

test("of a token with a part of a character what can be read is shown, and the bytes of that part", () => {
  assert.deepEqual(
    ["e38292e5", "e5", "20e280", "8292"].map((bytes) => partText({ bytes })),
    ["を⟨e5⟩", "⟨e5⟩", "⟨e2 80⟩", "⟨82 92⟩"],
  );
});

test("in a sentence a token is called as it is read: without the marks of spaces, punctuation in quotes", () => {
  const token = (text) => /** @type {any} */ ({ text, bytes: "", partial: false, special: false });
  assert.deepEqual(
    [" red", "red ", ".", " ,", "私の", "  ", "\n"].map((text) => tokenName(token(text))),
    ["red", "red", "“.”", "“,”", "私の", "··", "↵"],
  );
  assert.deepEqual(
    ['"', ' "', "”", ",”", "「"].map((text) => tokenName(token(text))),
    ['"', '"', "”", ",”", "「"].map((mark) => `[${mark}]`),
  );
  assert.equal(tokenName({ text: "<|pad|>", bytes: "", partial: false, special: true }), "PAD");
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

test("a character that draws nothing has its code, whether it is a token or is shared by several; no byte is dropped", () => {
  const nothing =
    "\ufeff\u00ad\u2060\u200e\u200f\ufe0f\u200c\u180e\u061c\u2061\u3164\u115f\u2800\u0085\u007f\u{e0041}\u034f\u17b4";
  for (const one of nothing) {
    const code = /** @type {number} */ (one.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0");
    const token = { text: one, bytes: Buffer.from(one).toString("hex"), partial: false, special: false };
    assert.equal(tokenLabel(token), `⟨U+${code}⟩`);
    assert.equal(visibleText(`a ${one}`), `a ⟨U+${code}⟩`);
    assert.equal(textOf([token]), one, "as the first character, too");
  }
  assert.equal(visibleText("a 猫é"), "a 猫é");
});

test("a punctuation mark's name has the parts of its key cap; a word has none", () => {
  assert.deepEqual(capOf("“.”₁"), { open: "“", mark: ".", close: "”", nth: "₁" });
  assert.deepEqual(capOf('["]'), { open: "[", mark: '"', close: "]", nth: "" });
  assert.deepEqual(capOf("「。」"), { open: "「", mark: "。", close: "」", nth: "" });
  for (const word of ["red₂", "…ries", "[CLS]", "↵", "“”"]) assert.equal(capOf(word), null);
});
