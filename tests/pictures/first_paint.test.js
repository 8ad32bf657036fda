/** The river of the first paint is what the page's own code draws for the first example today; `make pictures` accepts a change. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { KEPT, templates } from "./first_paint.js";

/** Of all templates together, in a page that is sent with gzip. Bytes. */
const MOST = 12 * 1024;

const made = await templates();

for (const [name, text] of Object.entries(made)) {
  const file = new URL(`${name}.html`, KEPT);
  test(`the first paint's ${name} is made again`, () => {
    if (process.env.CHUMOKU_ACCEPT_PICTURES) writeFileSync(file, text);
    // Not assert.equal: its comparison of two texts of this length, line by line, takes minutes.
    assert.ok(readFileSync(file, "utf8") === text, `${file} has changed: \`make pictures\` accepts it`);
  });
}

test("the first paint is small", () => {
  assert.ok(gzipSync(Buffer.from(Object.values(made).join("")), { level: 6 }).length <= MOST);
});

test("the first paint names no colour, and its words are the catalogue's", () => {
  const all = Object.values(made).join("");
  assert.ok(!/#[0-9a-f]{3,6}\b|rgb\(/i.test(all));
  assert.match(all, /t\("river.layer_main"/);
  assert.ok(!/>[^<{]*(layer|best guess)/.test(all));
});
