/** A text that is too long for an address stays in the tab's storage, and nothing of it is lost. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createLongText, LONGEST } from "../../static/state/link.js";

/** A tab's storage with room for `room` characters. @param {number} [room] */
function tab(room = 5e6) {
  /** @type {Map<string, string>} */
  const kept = new Map();
  return {
    kept,
    getItem: (/** @type {string} */ name) => kept.get(name) ?? null,
    removeItem: (/** @type {string} */ name) => void kept.delete(name),
    setItem(/** @type {string} */ name, /** @type {string} */ value) {
      const others = [...kept].filter(([one]) => one !== name).reduce((sum, [, { length }]) => sum + length, 0);
      if (others + value.length > room) throw new Error("QuotaExceededError");
      kept.set(name, value);
    },
  };
}

const long = (/** @type {string} */ letter, n = LONGEST) => `/?layer=2#text=${letter.repeat(n)}`;

test("an address up to the limit stays as it is", () => {
  const storage = tab();
  const fits = `/?layer=2#${"x".repeat(LONGEST)}`;
  assert.equal(createLongText(() => storage).shortened(fits), fits);
  assert.equal(storage.kept.size, 0);
});

test("a longer one is found again by its name, also by another page of the tab", () => {
  const storage = tab();
  const short = createLongText(() => storage).shortened(long("a"));
  assert.match(short, /^\/\?layer=2#kept=[0-9a-z]+$/);
  assert.equal(createLongText(() => storage).restored(short), long("a"));
  assert.equal(createLongText(() => tab()).restored(short), null, "another tab");
  assert.equal(createLongText(() => tab()).restored("/?text=Hi#view"), "/?text=Hi#view");
});

test("each step back has its own text, and the oldest go first", () => {
  const storage = tab();
  const texts = createLongText(() => storage);
  const all = Array.from({ length: 30 }, (_, i) => long(String.fromCodePoint(97 + i), 100_000));
  const names = all.map(texts.shortened);
  assert.equal(new Set(names).size, 30);
  const found = names.map(texts.restored);
  assert.deepEqual(found.slice(-15), all.slice(-15));
  assert.equal(found[0], null);
  assert.ok([...storage.kept.values()].reduce((sum, { length }) => sum + length, 0) < 2.1e6);
});

test("typing on does not fill the storage with copies", () => {
  const storage = tab();
  const texts = createLongText(() => storage);
  for (let i = 0; i < 5; i++) texts.shortened(long("a"));
  assert.equal(storage.kept.size, 2, "the text and the order");
});

for (const [what, storage] of Object.entries({
  full: () => tab(100),
  forbidden: () => {
    throw new Error("SecurityError");
  },
})) {
  test(`with a storage that is ${what}, the address keeps its text`, () => {
    const texts = createLongText(storage);
    assert.equal(texts.shortened(long("a")), long("a"));
    assert.equal(texts.restored("/#kept=x"), null);
  });
}

test("a storage that something else wrote to still works", () => {
  const storage = tab();
  storage.kept.set("chumoku.texts", '{"not": "a list"}');
  const texts = createLongText(() => storage);
  assert.equal(texts.restored(texts.shortened(long("a"))), long("a"));
});
