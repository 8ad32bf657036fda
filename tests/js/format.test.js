/** How numbers are written (static/ui/format.js): thousands as `Intl.NumberFormat` does, in both languages of the page. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { integer } from "../../static/ui/format.js";

for (const language of ["en", "ja"]) {
  test(`thousands are written as in ${language}`, () => {
    const written = new Intl.NumberFormat(language);
    for (const n of [0, 7, 999, 1000, 8189, 65536, 1234567]) assert.equal(integer(n), written.format(n));
  });
}

test("a negative count has a minus sign, not a hyphen", () => {
  assert.equal(integer(-4096), "−4,096");
});
