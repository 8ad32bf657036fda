/** What lessons count. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parted } from "../../static/learn/lesson/measures/index.js";

test("two texts are compared up to the token at which they part", () => {
  const found = parted([" lived", " in", " a"], [" lived", " on", " a"]);
  assert.deepEqual(found, { value: 1, same: 1, shared: "lived", a: "in a", b: "on a" });
});

test("two equal texts share all their tokens", () => {
  assert.deepEqual(parted([" a", "b"], [" a", "b"]), { value: 2, same: 2, shared: "ab", a: "", b: "" });
});
