/** The head that opens where nobody chose one, and the links that say which is open. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { firstHead } from "../../static/shell/initial_state.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { DEFAULTS } from "../../static/state/store.js";

const EXAMPLES = JSON.parse(readFileSync(new URL("../../static/examples.json", import.meta.url), "utf-8"));

test("it is that of the model's first card with a claim, also for a snapshot", () => {
  const [first] = EXAMPLES.examples;
  const head = { layer: first.layer, head: first.head };
  assert.deepEqual(firstHead(EXAMPLES, first.model), head);
  assert.deepEqual(firstHead(EXAMPLES, `${first.model}@100`), head);
  assert.deepEqual(firstHead(EXAMPLES, "sentiment-encoder"), {}, "its cards claim no cut");
  assert.deepEqual(firstHead({ examples: [] }, first.model), {});
});

test("a link says every head that was chosen, the first of all too", () => {
  for (const [layer, head] of [
    [0, 0],
    [0, 3],
    [2, 0],
  ]) {
    const link = linkOf({ ...DEFAULTS, text: "Hi", layer, head }, []);
    const asked = readLink(link.slice(1), []);
    assert.ok(asked.layer !== undefined || asked.head !== undefined, link);
    assert.deepEqual([asked.layer ?? 0, asked.head ?? 0], [layer, head]);
  }
  assert.equal(linkOf({ ...DEFAULTS }, []), "./");
});
