/** Matrices over characters and words instead of tokens (static/model/token_groups.js). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { mostlyBytes, summed, tokenGroups } from "../../static/model/token_groups.js";

/** @param {string} text */
const hex = (text) => [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} text @param {number} index */
const token = (text, index) => ({
  ...{ index, text, bytes: hex(text), special: /^(<|\[)/.test(text) },
  ...{ id: index, partial: false, start: 0, end: 0 },
});

for (const [tokens, words] of [
  [
    ["[CLS]", "Do", "n", "'t", " st", "op", ".", "..", '"', " He"],
    ["[CLS]", "Don't", "stop", "...", '"', "He"],
  ],
  [
    ["the ", "force", " be"],
    ["the·", "force", "be"],
  ],
  [
    ["毎", "朝", "パン", "を", "食べ", "ます", "。"],
    ["毎朝", "パン", "を", "食べ", "ます", "。"],
  ],
  [
    ["<|pad|>", "<|pad|>", "One", " a", "."],
    ["PAD", "PAD", "One", "a", "."],
  ],
]) {
  test(`words of ${tokens.join("|")}`, () => {
    const groups = tokenGroups(tokens.map(token), "words");
    assert.deepEqual(
      groups.map(({ label }) => label),
      words,
    );
    assert.deepEqual(
      groups.map(({ start }) => start),
      [0, ...groups.slice(0, -1).map(({ end }) => end)],
    );
  });
}

test("queries are averaged and keys summed, so that rows still sum to 1", () => {
  const [values, forbidden] = [new Float32Array(6 * 4), new Uint8Array(6 * 4)];
  for (let row = 0; row < 6; row++) {
    for (let col = 0; col < 4; col++) {
      forbidden[row * 4 + col] = col > row ? 1 : 0;
      values[row * 4 + col] = col > row ? 0 : 1 / Math.min(4, row + 1);
    }
  }
  /** @param {number} start @param {number} end */
  const group = (start, end) => ({ start, end, label: "" });
  const rows = [group(0, 1), group(1, 3), group(3, 6)];
  const cols = [group(0, 2), group(2, 4)];
  const out = summed({ values, forbidden, shape: [6, 4] }, rows, cols);
  assert.deepEqual(out.shape, [3, 2]);
  const expected = [1, 0, (1 + 2 / 3) / 2, 1 / 3 / 2, 1 / 2, 1 / 2];
  expected.forEach((value, i) => assert.ok(Math.abs(out.values[i] - value) < 1e-6, `${i}: ${out.values[i]}`));
  assert.deepEqual([...(out.forbidden ?? [])], [0, 1, 0, 0, 0, 0], "only where all parts are forbidden");
});

test("characters are the unit where most tokens are only parts of one", () => {
  const byte = { ...token("", 0), partial: true };
  const word = token("cat", 1);
  const cls = token("[CLS]", 2);
  assert.equal(mostlyBytes([byte, byte, word]), true);
  assert.equal(mostlyBytes([byte, word]), false);
  assert.equal(mostlyBytes([byte, cls]), true, "what spells nothing does not count");
  assert.equal(mostlyBytes([cls]), false);
});
