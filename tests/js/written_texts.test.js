/** What a reader types into a text that a model writes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { goingOn } from "../../static/model/written.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { DEFAULTS } from "../../static/state/store.js";

test("typed words are set apart from the token before, where words are", () => {
  const after = (/** @type {string} */ text, special = false) => ({ text, special });
  assert.equal(goingOn("there was", after(" time")), " there was");
  assert.equal(goingOn("Then", after(".")), " Then");
  assert.equal(goingOn(", and", after(" time")), ", and");
  assert.equal(goingOn(" there", after(" time")), " there");
  assert.equal(goingOn("there", after("\n")), "there");
  assert.equal(goingOn("です", after("駅")), "です");
  assert.equal(goingOn("cat", after("駅")), "cat");
  assert.equal(goingOn("The", after("<|start|>", true)), "The");
});

test("banned and stop texts and the beginning are in the link, after the #", () => {
  const told = { banned: ["a b", "駅"], stop: ["."], begin: " there & was" };
  const link = linkOf({ ...DEFAULTS, model: "m", text: "Hi", ...told }, []);
  assert.ok(link.indexOf("#") < link.indexOf("banned"));
  const { banned, stop, begin } = readLink(link, []);
  assert.deepEqual({ banned, stop, begin }, told);
  const odd = readLink(
    `/?model=m#text=a&banned=${encodeURIComponent(JSON.stringify(["", 3, "x".repeat(101), "ok"]))}&stop=1`,
    [],
  );
  assert.deepEqual([odd.banned, odd.stop], [["ok"], undefined]);
});
