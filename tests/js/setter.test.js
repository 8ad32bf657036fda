/** Changes of the page's state while a model is still loading. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { showing, withChanges } from "../../static/model/compare/runs.js";
import { createSetter, fitted } from "../../static/shell/setter.js";
import { createStore, DEFAULTS } from "../../static/state/store.js";

/** @import { State } from "../../static/state/store.js" */

const { decoder, translator } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
/** @param {any} model @param {string} name */
const line = (model, name) => ({ ...model, ...model.config, name, never_sampled: [] });

/** A page with model "a" loaded; "b" and "c" load when `arrive` is called. */
function page() {
  const known = new Map([["a", line(decoder, "a")]]);
  /** @type {Record<string, {resolve: (value?: unknown) => void, reject: (error: Error) => void}>} */
  const coming = {};
  const models = /** @type {any} */ ({
    first: "a",
    named: (/** @type {string|null} */ name) => known.get(name ?? "a"),
    load: (/** @type {string} */ name) => new Promise((resolve, reject) => (coming[name] = { resolve, reject })),
  });
  let [now, told] = ["ready", ""];
  const status = /** @type {any} */ ({
    now: () => now,
    show: (/** @type {string} */ state) => (now = state),
    notice: (/** @type {string} */ text) => (told = text),
  });
  const store = createStore({ ...DEFAULTS, model: "a", text: "one" });
  const modelOf = (/** @type {{model: string|null}} */ state) => models.named(state.model);
  const examples = { examples: [{ model: "b", claim: {}, layer: 0, head: 1 }] };
  const setter = createSetter(store, { models, modelOf, status, declared: [], examples });
  /** @param {string} name */
  async function arrive(name) {
    known.set(name, line(name === "b" ? translator : decoder, name));
    coming[name].resolve();
    await new Promise((done) => queueMicrotask(() => queueMicrotask(() => done(undefined))));
  }
  return { store, setter, arrive, coming, status: () => now, told: () => told };
}

test("a chosen model opens once it is loaded, with the text typed meanwhile", async () => {
  const { store, setter, arrive, status } = page();
  setter.set({ model: "b" });
  assert.equal(status(), "loading");
  setter.set({ text: "two" });
  await arrive("b");
  assert.equal(store.get().model, "b");
  assert.equal(store.get().text, "two");
});

test("a link that names no drawer opens none", () => {
  const [{ store }, model] = [page(), line(decoder, "a")];
  const opened = (/** @type {string|null} */ drawer) => fitted({ ...store.get(), drawer }, {}, () => model, []).drawer;
  assert.deepEqual(["branches", "toString", "next"].map(opened), [null, null, null]);
  const known = ["examples", "generation", "cache", "rank", "game", "labels", "fed", "batch"];
  assert.deepEqual(known.map(opened), known);
});

test("a model from the menu opens with its own first head", async () => {
  const { store, setter, arrive } = page();
  store.set({ layer: 0, head: 0 });
  setter.openModel("b");
  await arrive("b");
  assert.deepEqual([store.get().model, store.get().layer, store.get().head], ["b", 0, 1]);
});

test("Back cancels a model that is still loading", async () => {
  const { store, setter, arrive, status } = page();
  setter.openModel("b");
  store.replace({ ...DEFAULTS, model: "a", text: "earlier" }); // what address.js does
  assert.equal(status(), "ready");
  await arrive("b");
  assert.equal(store.get().model, "a");
  assert.equal(store.get().text, "earlier");
});

test("opening a file cancels a model that is still loading", async () => {
  const { store, setter, arrive } = page();
  setter.set({ model: "b" });
  store.set({ file: "cat", text: "" });
  await arrive("b");
  assert.equal(store.get().model, "a");
  assert.equal(store.get().file, "cat");
});

test("of two models that are loading, the one chosen last opens", async () => {
  const { store, setter, arrive } = page();
  setter.set({ model: "b" });
  setter.set({ model: "c" });
  await arrive("c");
  await arrive("b");
  assert.equal(store.get().model, "c");
});

test("a head of the encoder leaves the chosen row of the translation chosen", () => {
  const model = line(translator, "b");
  const before = { ...DEFAULTS, model: "b", attention: null, query: 3, key: 1 };
  /** @param {State} state @param {object} patch */
  const after = (state, patch) => ({ ...state, ...fitted(state, patch, () => model, []) });
  const encoder = after(before, { attention: "encoder" });
  assert.deepEqual([encoder.query, encoder.key, encoder.row], [null, 1, 3]);
  const decoder = after(/** @type {any} */ (encoder), { attention: "decoder" });
  assert.deepEqual([decoder.query, decoder.row], [3, null]);
});

test("a cut holds while the sentence goes on, and is gone with its tokens", () => {
  const model = { ...line(decoder, "a"), vocab_size: 10, never_sampled: [] };
  /** @param {number} query */
  const cut = (query) => ({
    ...{ kind: "mask", where: { attention: "self", layer: 0, role: "mask", query, key: 1 }, allow: false },
  });
  const whole = { kind: "mask", where: { attention: "self", layer: 0, role: "mask" }, allow: true };
  const interventions = [cut(2), cut(4), whole];
  const before = { ...DEFAULTS, model: "a", text: "a b c d e", interventions };
  /** @param {object} patch */
  const after = (patch) => fitted(before, patch, () => model, []).interventions ?? interventions;
  assert.deepEqual(after({ ids: [1, 2, 3, 4, 5, 6], nPrompt: 5 }), interventions);
  assert.deepEqual(after({ ids: [1, 2, 3], nPrompt: 3 }), [cut(2), whole]);
  assert.deepEqual(after({ text: "another" }), [whole]);
  const written = { ...before, ids: [1, 2, 3, 4, 5], nPrompt: 3 };
  /** @param {object} patch */
  const then = (patch) => fitted(written, patch, () => model, []).interventions ?? interventions;
  assert.deepEqual(then({ ids: [1, 2, 3, 4, 5, 6] }), interventions);
  assert.deepEqual(then({ ids: [1, 2, 3, 9, 5] }), [cut(2), whole], "another token was taken before the cut one");
  assert.deepEqual(after({ text: "b", interventions: [cut(0)] }), [cut(0)]);
  assert.deepEqual(after({ layer: 1 }), interventions);
});

test("edits that are set aside fit another sentence as those that are shown do", () => {
  const where = (/** @type {number} */ key) => ({ attention: "self", layer: 0, role: "mask", query: 4, key });
  const cut = (/** @type {number} */ key) => ({ kind: "mask", where: where(key), allow: false });
  const whole = { kind: "ablate", where: { attention: "self", layer: 1, role: "z", head: 0 } };
  const model = line(decoder, "a");
  const edited = /** @type {any} */ ({ ...DEFAULTS, model: "a", text: "a b c d e", interventions: [cut(2), whole] });
  const before = { ...edited, ...showing(edited, "before", model) };
  assert.deepEqual(before.interventions, []);
  /** @param {any} patch */
  const then = (patch) => ({ ...before, ...fitted(before, patch, () => model, []) });
  assert.deepEqual(withChanges(then({ text: "b" }), model).interventions, [whole]);
  assert.deepEqual(withChanges(then({ layer: 1 }), model).interventions, [cut(2), whole]);
  assert.equal(then({ model: "b" }).against, null);
  const asked = { interventions: [cut(0)] };
  assert.deepEqual(then({ text: "b", against: asked }).against, asked);
});

test("after Back to a model that never loaded, another can be chosen", () => {
  const model = line(translator, "b");
  const before = { ...DEFAULTS, model: "gone", attention: "decoder", layer: 9, query: 3 };
  const patch = fitted(before, { model: "b" }, (state) => (state.model === "b" ? model : undefined), []);
  assert.equal(patch.layer, translator.config.n_layer - 1);
  assert.equal(patch.query, null);
});

test("another text after a chat is read as any typed text: the tokens around it are added", () => {
  const model = { ...line(decoder, "a"), chat: true };
  const chat = [{ role: "user", content: "hi" }];
  const before = { ...DEFAULTS, model: "a", text: "<s>[user] hi", special: true, addSpecial: false, chat };
  /** @param {any} patch */
  const then = (patch) => {
    const { addSpecial, special, chat: turns } = { ...before, ...fitted(before, patch, () => model, []) };
    return { addSpecial, special, turns };
  };
  const typed = { addSpecial: true, special: false, turns: [] };
  assert.deepEqual(then({ text: "The cat", ids: null, nPrompt: null }), typed);
  const read = { addSpecial: false, special: true, turns: chat };
  assert.deepEqual(then({ ids: [1, 2, 3], nPrompt: 2 }), read, "what is written goes on with it");
  assert.deepEqual(then({ text: "<s>[user] hi", layer: 1 }), read, "the same text");
  const other = { text: "<s>[user] bye", special: true, addSpecial: false, chat: [] };
  assert.deepEqual(then(other), { ...read, turns: [] }, "the next turn of a chat, or a run that was opened");
});

test("special tokens that the reader asked for are read in the next text, too", () => {
  const model = line(decoder, "a");
  const before = { ...DEFAULTS, model: "a", text: "[MASK] sat", special: true };
  assert.equal({ ...before, ...fitted(before, { text: "[MASK] sat down" }, () => model, []) }.special, true);
});

test("the pencil is laid down with the head, and kept within it", () => {
  const model = line(decoder, "a");
  const attention = { pencil: "on", scope: "all" };
  const before = /** @type {any} */ ({ ...DEFAULTS, model: "a", view: "attention", viewState: { attention } });
  /** @param {object} patch */
  const after = (patch) => fitted(before, patch, () => model, []).viewState?.attention ?? attention;
  assert.deepEqual(after({ view: "model" }), { pencil: "off", scope: "head" });
  assert.deepEqual(after({ head: 1 }), attention);
  assert.deepEqual(after({ viewState: { attention: { scope: "layer" } } }), { scope: "layer" }, "as it is set");
  const lesson = fitted({ ...before, lesson: "masks" }, { view: "model" }, () => model, []);
  assert.equal(lesson.viewState, undefined, "a lesson sets its own");
});
