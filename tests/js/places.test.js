/** The place of the page is a path, which follows from the open view, its layer and its head. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { riverState } from "../../static/river/view_state.js";
import { rememberPlace } from "../../static/shell/address.js";
import { hrefOf } from "../../static/shell/examples.js";
import { crumbsOf, deepestOf, escaped } from "../../static/shell/path.js";
import { fitted } from "../../static/shell/setter.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { DEFAULTS } from "../../static/state/store.js";
import { keepInMind, remembered } from "../../static/ui/remembered.js";
import { VIEWS } from "../../static/views/index.js";
import { isModel, outward, placeNamed, placeOf } from "../../static/views/places.js";
import { attentionState, pencilDown, walkState } from "../../static/views/view_states.js";

Object.assign(globalThis, { document: { documentElement: { lang: "en" } } });

const DECODER = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf-8")).decoder;
const state = (/** @type {any} */ patch) => /** @type {any} */ ({ ...DEFAULTS, text: "Hi", ...patch });
const withRoute = structuredClone(DECODER);
withRoute.description.can = { ...withRoute.description.can, route: true };
const without = structuredClone(DECODER);
without.description.can = { ...without.description.can, route: false };
const path = (/** @type {any} */ patch, model = withRoute) => crumbsOf(state(patch), model).map(({ name }) => name);

test("every view has a place, and the model is the first", () => {
  assert.equal(DEFAULTS.view, "model");
  assert.ok(isModel(DEFAULTS));
  assert.deepEqual(
    VIEWS.map(({ id }) => id).filter((id) => placeNamed(id) === "tools"),
    ["training", "cost"],
  );
});

test("the path leads from the model to what is open", () => {
  assert.deepEqual(path({}), ["model"]);
  assert.deepEqual(path(riverState.patch({ layer: "main.1" })), ["model", "layer"]);
  assert.deepEqual(path({ view: "attention" }), ["model", "layer", "head"]);
  assert.deepEqual(path({ view: "ffn" }), ["model", "layer", "ffn"]);
  assert.deepEqual(path({ view: "embedding" }), ["model", "embedding"]);
  assert.deepEqual(path({ view: "cost" }), ["model", "tools"]);
});

test("the deepest place, whose room the path keeps, is as long as that of any head and the same from everywhere", () => {
  const [{ id, n_layer: layers, n_head: heads }] = withRoute.description.attentions;
  const deepest = deepestOf(state({}), withRoute);
  for (const layer of Array(layers).keys())
    for (const head of Array(heads).keys()) {
      const open = state({ view: "av", attention: id, layer, head });
      const said = crumbsOf(open, withRoute).map(({ text }) => text);
      assert.ok(said.join(" › ").length <= deepest.length);
      assert.equal(deepestOf(open, withRoute), deepest);
    }
});

test("only the last crumb is open; the others lead there", () => {
  const crumbs = crumbsOf(state({ view: "attention", layer: 1 }), withRoute);
  assert.deepEqual(
    crumbs.map(({ patch }) => patch === null),
    [false, false, true],
  );
});

test("Escape leads up, from a head to its layer, and from there to the model", () => {
  const stack = withRoute.description.attentions[0].stack;
  const up = outward(state({ view: "attention", layer: 1 }), withRoute);
  assert.deepEqual(up, { view: "model", viewState: { river: { layer: `${stack}.1` } } });
  assert.deepEqual(outward(state(up), withRoute), { viewState: { river: { layer: null } } });
  assert.equal(outward(state({}), withRoute), null);
  assert.deepEqual(outward(state({ view: "prediction" }), withRoute), {
    view: "model",
    viewState: { river: { layer: null } },
  });
});

test("where the river is away there is no place above a view: the path says its layer and leads nowhere", () => {
  const crumbs = crumbsOf(state({ view: "attention", ...riverState.patch({ shown: false }) }), withRoute);
  assert.deepEqual(
    crumbs.map(({ name, patch }) => [name, patch]),
    [
      ["layer", null],
      ["head", null],
    ],
  );
});

test("a model that does not report what its attention moves has the whole above a view, too", () => {
  const crumbs = crumbsOf(state({ view: "attention" }), without);
  assert.deepEqual(
    crumbs.map(({ name, patch }) => [name, patch !== null]),
    [
      ["model", true],
      ["layer", true],
      ["head", false],
    ],
  );
  assert.equal(outward(state({ view: "attention" }), without)?.view, "model");
  assert.equal(fitted(state({}), { view: "model" }, () => without, []).view, "model");
});

test("a view that a model lacks is replaced by one in the same place", () => {
  assert.equal(fitted(state({}), { view: "gate" }, () => withRoute, []).view, "attention");
  assert.equal(fitted(state({}), { view: "ffn" }, () => withRoute, []).view, "ffn");
});

test("the river says the answers: a quiz opens a head, and the whole model ends it", () => {
  const after = (/** @type {any} */ before, /** @type {any} */ patch) => {
    const { view, quiz } = { ...before, ...fitted(before, patch, () => null, []) };
    return [view, quiz];
  };
  assert.deepEqual(after(state({}), { quiz: true }), ["attention", true]);
  assert.deepEqual(after(state({ view: "ffn" }), { quiz: true }), ["ffn", true]);
  assert.deepEqual(after(state({ view: "ffn", quiz: true }), { view: "model" }), ["model", false]);
});

test("a link opens its place; a level of former links is dropped", () => {
  const link = linkOf(state({ model: "tiny", view: "ffn", layer: 2, drawer: "generation" }), []);
  const { search, hash } = new URL(link, "http://x");
  const read = readLink(search + hash, []);
  assert.deepEqual([read.view, read.layer, read.drawer], ["ffn", 2, "generation"]);
  assert.ok(!("level" in readLink("?level=look&view=ffn", [])));
});

test("the start page is its address alone, and an example's link is a place", () => {
  assert.equal(linkOf(state({ start: true, model: "tiny" }), []), "./");
  const example = { see: {}, claim: {}, model: "tiny", text: "Hi", view: "attention" };
  assert.equal(readLink(new URL(hrefOf(example, []), "http://x").search, []).view, "attention");
});

test("the walk through the calculation is where its step is", () => {
  const at = (/** @type {string|null} */ step) =>
    placeOf(state({ view: "computation", ...walkState.patch({ step }) })).name;
  assert.deepEqual(["in.tokens", "attn.q", "cross_attn.softmax", "ffn.pre", "out.logits", null].map(at), [
    "embedding",
    "head",
    "head",
    "ffn",
    "prediction",
    "head",
  ]);
});

test("a head and an FFN are in a layer, and nothing else is", () => {
  const inLayer = VIEWS.map(({ id }) => id).filter((view) => placeOf(state({ view })).layer);
  assert.deepEqual(inLayer, ["qkv", "distance", "rotation", "attention", "decay", "gate", "av", "ffn", "computation"]);
});

test("Escape lays the pencil down before it leaves the head", () => {
  /** @param {any} patch @param {any} [more] */
  const leaves = (patch, more) =>
    escaped(
      state({ view: "attention", ...riverState.patch({ shown: true }), ...attentionState.patch(patch), ...more }),
      withRoute,
    );
  assert.deepEqual(leaves({ pencil: "on" }), { viewState: pencilDown });
  assert.deepEqual(leaves({ pencil: "on" }, { drawer: "rank" }), { drawer: null });
  assert.deepEqual(leaves({ pencil: "on", step: "masked" }), { viewState: pencilDown });
  assert.notDeepEqual(leaves({ step: "masked" }), { viewState: pencilDown });
});

test("who opens the page again finds the place, and no pencil in the hand", () => {
  let leave = () => {};
  const listens = globalThis.addEventListener;
  globalThis.addEventListener = (/** @type {any} */ _, /** @type {any} */ then) => {
    leave = then;
  };
  const shown = state({ view: "attention", layer: 1, ...attentionState.patch({ pencil: "on", scope: "all" }) });
  const store = /** @type {any} */ ({ get: () => shown });
  rememberPlace(store, [attentionState], /** @type {any} */ ({ addEventListener() {} }));
  leave();
  globalThis.addEventListener = listens;
  const { layer, viewState } = readLink(remembered("place") ?? "", [attentionState]);
  keepInMind("place", "");
  assert.equal(layer, 1);
  const { pencil, scope } = attentionState.of(state({ viewState: viewState ?? {} }));
  assert.deepEqual([pencil, scope], ["off", "head"]);
});
