/** The head that opens where nobody chose one, and the links that say which is open. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { firstHead } from "../../static/shell/initial_state.js";
import { startPatch } from "../../static/shell/start.js";
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

test("a server that was given a model opens with it: its example, the first example's sentence, or its picture", () => {
  const [first] = EXAMPLES.examples;
  const models = [{ name: first.model }, { name: "bert" }, { name: "sentiment-encoder" }, { name: "vit", picture: {} }];
  const shown = (/** @type {string} */ own) => {
    const { model, text, start } = startPatch(EXAMPLES, models, own, []) ?? {};
    return [model, text, start ?? false];
  };
  assert.deepEqual(shown(first.model), [first.model, first.text, true]);
  assert.deepEqual(shown("bert"), ["bert", first.text, false]);
  assert.deepEqual(shown("vit"), ["vit", "", false]);
  const own = EXAMPLES.examples.find((/** @type {any} */ one) => one.model === "sentiment-encoder");
  assert.deepEqual(shown("sentiment-encoder"), ["sentiment-encoder", own.text, false]);
  assert.equal(startPatch(EXAMPLES, [{ name: "bert" }], "bert", []), null);
});
