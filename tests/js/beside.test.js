/** The same sentence in two models: what the other one shows, and what the page follows. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { JSDOM } from "jsdom";
import {
  askedBack,
  besideModel,
  besideOf,
  besideState,
  byCharacters,
  isBeside,
  isEdited,
  UNEDITED,
} from "../../static/model/compare/beside.js";
import { effectiveKeys, effectiveOf } from "../../static/model/matrix.js";
import { DECLARED } from "../../static/page.js";
import { createTelling } from "../../static/river/river.js";
import { hearSource } from "../../static/shell/sentence/sentence.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { DEFAULTS } from "../../static/state/store.js";
import { opensAt, PAIRS, pairsAmong } from "../../static/views/beside/pick.js";
import { PANELS } from "../../static/views/panels.js";

const DESCRIPTIONS = JSON.parse(readFileSync(new URL("./descriptions.json", import.meta.url), "utf8"));
const a = { name: "a", vocab_size: 10, special: { pad: 9 }, description: DESCRIPTIONS.decoder.description };
const b = { ...a, name: "b" };
const snapshots = /** @type {any} */ (PANELS.find(({ id }) => id === "watched"));
const same = (/** @type {number|null} */ index) => index;
const state = (more = {}) =>
  /** @type {any} */ ({ ...DEFAULTS, model: "a", text: "The cat", beside: { model: "b" }, ...more });
const tokens = { spelled: "The cat", at: same };

test("the other model shows the same token, view and edits", () => {
  const cut = { kind: "ablate", where: { layer: 0, role: "z", head: 0 } };
  const shown = besideOf(state({ query: 1, view: "av", interventions: [cut], compare: true }), { a, b }, tokens);
  assert.deepEqual([shown.model, shown.text, shown.query, shown.view], ["b", "The cat", 1, "av"]);
  assert.deepEqual(shown.interventions, [cut]);
  assert.equal(shown.compare, false);
});

test("edits of a head that it lacks stay with the page, also when it adds one", () => {
  const lost = { kind: "ablate", where: { layer: 99, role: "z", head: 0 } };
  const made = { kind: "ablate", where: { layer: 0, role: "z", head: 0 } };
  const page = state({ interventions: [lost] });
  const previous = besideOf(page, { a, b }, tokens);
  assert.deepEqual(previous.interventions, []);
  const patch = askedBack(page, { state: { ...previous, interventions: [made] }, previous }, { a, b }, same);
  assert.deepEqual(patch.interventions, [lost, made]);
});

test("another model that is chosen on the second page takes its place", () => {
  const previous = besideOf(state(), { a, b }, tokens);
  const c = { ...b, name: "c" };
  const patch = askedBack(state(), { state: { ...previous, model: "c" }, previous }, { a, b: c }, same);
  assert.deepEqual(patch, { beside: { model: "c" } });
});

test("a chosen token is shared where both sides are the sentence's", () => {
  const translator = { ...b, ...DESCRIPTIONS.translator, vocab_size: 20 };
  const previous = besideOf(state({ query: 1, key: 0 }), { a, b: translator }, tokens);
  assert.deepEqual([previous.query, previous.key], [null, 0], "its open attention has the target's queries");
  const chosen = { ...previous, query: 2, key: 1 };
  assert.deepEqual(askedBack(state(), { state: chosen, previous }, { a, b: translator }, same), { key: 1 });
});

test("its open head is its own, and in the link", () => {
  const previous = besideOf(state({ layer: 1, head: 1 }), { a, b }, tokens);
  const patch = askedBack(state(), { state: { ...previous, head: 0 }, previous }, { a, b }, same);
  assert.deepEqual(patch, besideState.patch({ attention: null, layer: 1, head: 0 }));
  const opened = state({ viewState: patch.viewState });
  assert.equal(besideOf({ ...opened, layer: 0 }, { a, b }, tokens).layer, 1);
  const read = readLink(linkOf(opened, DECLARED).slice(1), DECLARED);
  assert.deepEqual([read.beside, read.viewState?.beside], [{ model: "b" }, { layer: 1, head: 0 }]);
});

test("a model with another vocabulary reads the text, and its tokens are found by their characters", () => {
  const other = { ...b, vocab_size: 20 };
  const shown = besideOf(state({ ids: [1, 2], text: "typed" }), { a, b: other }, tokens);
  assert.deepEqual([shown.ids, shown.text], [null, "The cat"]);
  const read = (/** @type {string} */ text, /** @type {number[][]} */ ...all) => ({
    text,
    tokens: all.map(([start, end]) => ({ start, end })),
  });
  const at = byCharacters(read("The cat.", [0, 3], [3, 8]), read("the cat .", [0, 2], [2, 3], [3, 4], [4, 7], [7, 9]));
  assert.deepEqual([at(0), at(1), at(null), at(5)], [0, 3, null, null]);
});

test("it is not shown in a lesson, in the quiz or of a file", () => {
  assert.ok(isBeside(state()));
  for (const more of [{ lesson: "one" }, { file: "f" }, { quiz: true }, { beside: null }])
    assert.equal(isBeside(state(more)), false);
});

test("the slider over snapshots makes room for another model, not for a snapshot of its own", () => {
  const drawer = "watched";
  assert.equal(snapshots.shown(state({ drawer })), false);
  assert.ok(snapshots.shown(state({ drawer, beside: { model: "a@140" } })));
  assert.ok(snapshots.shown(state({ drawer, beside: null })));
  assert.equal(snapshots.shown(state({ beside: null })), false, "its drawer is closed");
});

test("a ready pair is offered when both models are there", () => {
  const names = (/** @type {string[]} */ ...all) => pairsAmong(all.map((name) => ({ name }))).map(({ id }) => id);
  assert.deepEqual(names("mini-softmax", "mini-relative"), ["relative"]);
  assert.deepEqual(names("mini-softmax", "stories-gpt"), []);
});

test("the effective number of keys is exp of the entropy", () => {
  assert.equal(effectiveKeys([1, 0, 0]), 1);
  assert.ok(Math.abs(effectiveKeys([0.25, 0.25, 0.25, 0.25]) - 4) < 1e-12);
  const { heads, union } = effectiveOf({ shape: [2, 1, 2], data: [1, 0, 0, 1] }, 0);
  assert.deepEqual(heads, [1, 1]);
  assert.ok(Math.abs(union - 2) < 1e-12, "two sharp heads on different keys have two keys together");
});

test("a ready pair opens the head of either side in which its difference is seen", () => {
  const pair = /** @type {any} */ (PAIRS.find(({ id }) => id === "relative"));
  const patch = opensAt(pair);
  const [layer, head, otherLayer, otherHead] = pair.heads;
  assert.deepEqual([patch.view, patch.layer, patch.head], ["attention", layer, head]);
  const shown = besideOf(state({ ...patch, beside: { model: "b" }, layer: 0, head: 0 }), { a, b }, tokens);
  assert.deepEqual([shown.layer, shown.head], [otherLayer, otherHead]);
});

test("the same model without edits stands beside a run that has some", () => {
  const cut = { kind: "ablate", where: { layer: 0, role: "z", head: 0 } };
  const page = state({ causal: false, padMask: false, padCount: 2, interventions: [cut], beside: UNEDITED });
  assert.equal(isEdited(page), true);
  assert.equal(besideModel(page), "a");
  const shown = besideOf(page, { a, b: a }, tokens);
  assert.deepEqual([shown.model, shown.causal, shown.padMask, shown.padCount], ["a", null, true, 2]);
  assert.deepEqual(shown.interventions, []);
  assert.equal(isEdited(shown), false);
  assert.deepEqual(readLink(linkOf(page, DECLARED).slice(1), DECLARED).beside, page.beside);
});

test("each page hears its own river, and of a source word once", () => {
  const { window } = new JSDOM(
    '<div id="first"><div id="river"></div><div id="second"><div id="other"></div></div></div>',
  );
  const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (window.document.getElementById(id));
  const { CustomEvent: before } = globalThis;
  Object.assign(globalThis, { CustomEvent: window.CustomEvent });
  try {
    const heard = /** @type {Record<string, unknown[]>} */ ({ first: [], second: [] });
    for (const id of ["first", "second"]) hearSource($(id), (used) => heard[id].push(used?.key ?? null));
    const [tell, tellOther] = ["river", "other"].map((id) => createTelling($(id)));
    const used = (/** @type {number} */ key) => ({ of: "run 1", side: "source", key });
    tellOther(null); // none yet: nothing to say
    for (const key of [1, 1, 2]) tell(used(key));
    for (const detail of [used(5), null, null]) tellOther(detail);
    assert.deepEqual(heard, { first: [1, 2], second: [5, null] });
  } finally {
    Object.assign(globalThis, { CustomEvent: before });
  }
});
