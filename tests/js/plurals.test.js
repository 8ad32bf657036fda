/** Singulars in the catalogue (static/ui/i18n.js), a token's name in a sentence (static/model/labels.js), and the languages of codes (static/shell/notes.js). */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { tokenName } from "../../static/model/labels.js";
import { codeWords } from "../../static/shell/notes.js";
import { errorText } from "../../static/ui/format.js";
import { forPointer, forTheme, keyFor, phrase, t } from "../../static/ui/i18n.js";
import { testWith } from "./words.js";

const test = testWith({
  ...{ tokens: "{n} tokens", "tokens.one": "1 token", keys: "{n} keys" },
  ...{ "note.read_as": "read as {language} ({code})", "note.begins_without": "begins without" },
  ...{ "note.begins_with": "begins with {code} ({language})" },
  falls: "{cut} and [[the prediction {answer} ]]falls.",
  ...{ read: "this sentence: {n}", "read.picture": "this picture: {n}" },
  ...{
    "error.away": "Retrying in {seconds} s.",
    "error.away.once": "Try again.",
    "error.long": "At most {limit}.",
    "error.too_large": "{got_mb} of {limit_mb} MB",
  },
});
class FakeNode {
  className = "";
  append(/** @type {any[]} */ ...words) {
    this.words = words;
  }
}
Object.assign(globalThis, { document: { documentElement: { lang: "en" } }, Node: class {} });

test("one is one, as a number and as the page writes it", () => {
  assert.equal(t("tokens", { n: 1 }), "1 token");
  assert.equal(t("tokens", { n: "1" }), "1 token");
  assert.equal(phrase("tokens", { n: 1 }).join(""), "1 token");
  assert.equal(t("tokens", { n: 11 }), "11 tokens");
  assert.equal(t("keys", { n: 1 }), "1 keys", "where the catalogue has no string of its own");
});

test("what a phone leaves out is apart, with what is filled in there; a plain text has it", () => {
  const filled = { cut: "Hide it", answer: "car" };
  assert.equal(t("falls", filled), "Hide it and the prediction car falls.");
  const { document, Node } = globalThis; // all files run in one process
  Object.assign(globalThis, { document: { ...document, createElement: () => new FakeNode() }, Node: FakeNode });
  const [cut, and, left, rest] = phrase("falls", filled);
  Object.assign(globalThis, { document, Node });
  assert.deepEqual([cut, and, rest], ["Hide it", " and ", "falls."]);
  const { className, words } = /** @type {FakeNode} */ (/** @type {unknown} */ (left));
  assert.deepEqual([className, words], ["roomy", ["the prediction ", "car", " "]]);
});

test("of a picture nothing says that it is a sentence", () => {
  const [photos, words] = [{ picture: { size: 8 } }, { picture: null }];
  assert.equal(t(keyFor(photos, "read"), { n: 17 }), "this picture: 17");
  assert.equal(t(keyFor(photos, "keys"), { n: 17 }), "17 keys", "where one text is for both");
  assert.equal(t(keyFor(words, "read"), { n: 17 }), "this sentence: 17");
  assert.equal(t(keyFor(null, "read"), { n: 17 }), "this sentence: 17", "before a model is chosen");
});

test("an error that nobody retries promises no retry", () => {
  assert.equal(errorText({ code: "away", message: "" }), "Try again.");
  assert.equal(errorText({ code: "long", limit: 7, message: "" }), "At most 7.");
  assert.equal(errorText({ code: "too_large", got: 81007972, limit: 2 ** 26, message: "" }), "77.3 of 64 MB");
  assert.equal(errorText({ code: "else", message: "Gone.", hint: "Reload." }), "Gone. Reload.");
});

for (const [text, name] of [
  [",", "“,”"],
  ["。", "「。」"],
  [" cat", "cat"],
  [" .", "“.”"],
  ["猫", "猫"],
  ["7", "7"],
])
  test(`${text} is named ${name}`, () => {
    assert.equal(tokenName({ text, bytes: "", partial: false, special: false }), name);
  });

test("a finger taps where a mouse clicks", () => {
  assert.equal(
    forPointer("Click a line, clicking opens it, a clicker", true),
    "Tap a line, tapping opens it, a clicker",
  );
  assert.equal(forPointer("線をクリックすると隠せます。", true), "線をタップすると隠せます。");
  assert.equal(forPointer("Click a line", false), "Click a line");
});

test("what stands out is darker on light paper and brighter on dark paper", () => {
  assert.equal(forTheme("The darker a line. Darkest: all.", true), "The brighter a line. Brightest: all.");
  assert.equal(forTheme("a dark left edge, in the dark", true), "a bright left edge, in the dark");
  assert.equal(forTheme("濃い線ほど、色が濃く", true), "明るい線ほど、色が明るく");
  assert.equal(forTheme("paler: nearer to zero", true), "darker: nearer to zero");
  assert.equal(forTheme("薄いほど 0 に近い", true), "暗いほど 0 に近い");
  assert.equal(forTheme("The darker a line", false), "The darker a line");
});

/** Every string in a JSON value. @param {unknown} value @returns {string[]} */
const stringsIn = (value) =>
  typeof value === "string"
    ? [value]
    : value && typeof value === "object"
      ? Object.values(value).flatMap(stringsIn)
      : [];

test("no text of the page says darker of what is brighter on dark paper", () => {
  const read = (/** @type {string} */ path) =>
    JSON.parse(readFileSync(new URL(`../../static/${path}`, import.meta.url), "utf-8"));
  const lessons = ["attention", "masks", "translator"].map((name) => `learn/lessons/${name}.json`);
  const files = ["i18n/en.json", "i18n/ja.json", ...lessons, "learn/glossary/words.json", "examples.json"];
  const texts = files.flatMap((path) => stringsIn(read(path)));
  assert.ok(texts.filter((text) => text !== forTheme(text, true)).length > 15);
  const wrong = /\bpaler\b|\bdeep(?:er|est)\b|\bdark(?! in|$)(?:er|est)?\b|濃|薄/i;
  const left = texts
    .map((text) => forTheme(text, true).replace("darker: nearer to zero", ""))
    .filter((text) => wrong.test(text));
  assert.deepEqual(left, []);
});

test("a note names the languages of a translator's codes, in the three ways that families spell them", () => {
  const both = codeWords({ source: "en_XX", target: "ja_XX" });
  assert.deepEqual(both, ["read as English (en_XX)", "begins with ja_XX (Japanese)"]);
  assert.deepEqual(codeWords({ source: "zho_Hans", target: null }), ["read as Chinese (zho_Hans)", "begins without"]);
  assert.deepEqual(codeWords({ source: null, target: "__de__" }), ["begins with __de__ (German)"]);
});
