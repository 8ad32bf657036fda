/** A link reproduces the picture, and so do older links. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { DECLARED as OF_THE_PAGE } from "../../static/page.js";
import { choice, index, indices, pair, text, typed } from "../../static/state/fields.js";
import { linkOf, readLink, tidied, withParam } from "../../static/state/link.js";
import { createStore, DEFAULTS } from "../../static/state/store.js";
import { anotherSentence, mergedViewState, viewState } from "../../static/state/view_state.js";
import {
  compareState as comparedToken,
  predictionState as lens,
  attentionState as pencil,
  walkState as walk,
} from "../../static/views/view_states.js";

/** @import { State } from "../../static/state/store.js" */

const attention = viewState("attention", {
  step: choice("weights", "qk", "scaled", "masked"),
  as: choice("matrix", "lines"),
  heads: indices("mean"),
  unit: choice("tokens", "words"),
});
const embedding = viewState("embedding", {
  tab: choice("sum", "positions", "swap", "neighbours"),
  length: index(null),
  neighbour: pair(),
  swap: { ...pair(), until: /** @type {const} */ ("sentence") },
});
const computation = viewState("computation", { step: text(null) });
const inspector = viewState("inspector", { norm: text(null) });
const prediction = viewState("prediction", {
  tab: choice("token", "layers"),
  layers_axis: choice("linear", "log"),
});
const DECLARED = [
  attention,
  embedding,
  computation,
  viewState("batch", { text: typed("") }),
  prediction,
  inspector,
  comparedToken,
];

/** @param {string} search */
const read = (search) => readLink(search, DECLARED);
/** @param {Partial<State>} state */
const write = (state) => linkOf({ ...DEFAULTS, ...state }, DECLARED);

test("a model and a text are written as they are", () => {
  assert.equal(write({ model: "tiny", text: "The cat", layer: 2 }), "./?model=tiny&layer=2#text=The+cat");
  assert.equal(write({}), "./");
});

test("any other run is one JSON", () => {
  const { search, hash } = new URL(write({ model: "tiny", text: "Hi", causal: false, query: 3 }), "http://x");
  const params = new URLSearchParams(hash.slice(1));
  assert.deepEqual(JSON.parse(params.get("run") ?? ""), {
    model: "tiny",
    input: { text: "Hi" },
    masks: { causal: false },
  });
  assert.deepEqual([search, ...params.keys()], ["?query=3&layer=0", "run"]);
});

test("every part of the state comes back from its link", () => {
  const state = {
    ...DEFAULTS,
    ...{ model: "tiny", text: "typed", ids: [3, 4, 5], nPrompt: 2, targetIds: [1, 7], causal: true, padCount: 2 },
    ...{
      padSide: /** @type {const} */ ("right"),
      padMask: false,
      padFollow: false,
      attention: "cross",
      layer: 1,
      head: 2,
    },
    ...{ query: 3, key: 0, view: "ffn", cell: [3, 17], ffnUnit: 9, answer: 11, quiz: true, compare: true },
    ...{ temperature: 0, topK: 5, topP: 0.5, seed: 8 },
    interventions: [{ kind: "ablate", where: { layer: 0, role: "z", head: 1 } }],
    viewState: {
      attention: { as: "lines", heads: [0, 3] },
      computation: { step: "attn.q" },
      batch: { text: "so & so" },
    },
  };
  const link = linkOf(state, DECLARED);
  assert.deepEqual({ ...DEFAULTS, ...read(link) }, state);
});

test("the walk's pace, the lens's depth and the compared token are in the link", () => {
  const viewStates = { computation: { pace: "4" }, prediction: { depth: 2 }, compare: { token: [3, 17] } };
  const link = linkOf({ ...DEFAULTS, model: "tiny", viewState: viewStates }, OF_THE_PAGE);
  assert.deepEqual(readLink(link.slice(1), OF_THE_PAGE).viewState, viewStates);
  const { searchParams } = new URL(link, "http://x");
  assert.deepEqual(
    ["computation.pace", "prediction.depth", "compare.token"].map((name) => searchParams.get(name)),
    ["4", "2", "3.17"],
  );
});

test("a link that does not name them opens as it did: 2 s a step, the last depth, the actual next token", () => {
  const opened = readLink("?model=tiny&view=computation&prediction.tab=layers&compare=on", OF_THE_PAGE);
  const state = { viewState: opened.viewState ?? {} };
  assert.deepEqual([walk.of(state).pace, lens.of(state).depth, comparedToken.of(state).token], ["2", null, null]);
  const odd = "?computation.pace=3&prediction.depth=-1&compare.token=7";
  assert.deepEqual(readLink(odd, OF_THE_PAGE), {}, "a pace that is not offered, and what is not a position");
});

test("the compared token belongs to its sentence", () => {
  const forgotten = anotherSentence(OF_THE_PAGE);
  assert.equal(forgotten.compare.token, null);
  assert.equal("pace" in (forgotten.computation ?? {}), false);
});

test("a link is written without the pencil that its writer holds, and an older one may bring it", () => {
  const held = pencil.patch({ pencil: "on", scope: "all", step: "qk" });
  const link = linkOf({ ...DEFAULTS, text: "a cat", ...held }, OF_THE_PAGE);
  assert.deepEqual(readLink(link, OF_THE_PAGE).viewState, { attention: { step: "qk" } });
  assert.deepEqual(readLink("?attention.pencil=on", OF_THE_PAGE).viewState, { attention: { pencil: "on" } });
});

test("what a person typed comes after #, whatever kind of link it is", () => {
  const words = ["Secret & so?", "Geheim", "秘密"];
  const run = { input: { text: words[1] }, masks: { causal: false } };
  for (const state of [
    { model: "tiny", text: words[0], layer: 1 },
    { model: "tiny", text: words[0], target: words[1], head: 1 },
    { model: "tiny", text: words[0], compare: true, against: run },
    { model: "tiny", viewState: { batch: { text: words[2] }, attention: { as: "lines" } }, view: "ffn" },
  ]) {
    const link = write(/** @type {any} */ (state));
    const [sent, kept] = link.split("#").map((part) => decodeURIComponent(part.replaceAll("+", " ")));
    assert.ok(
      words.some((word) => kept.includes(word)),
      link,
    );
    assert.ok(!words.some((word) => sent.includes(word)), link);
  }
});

test("a link with its text in the query opens, and its text then comes after #", () => {
  const open = "?model=tiny&text=Hi+%26+so&layer=2&batch.text=Two&run={}";
  assert.deepEqual(read(tidied(open, DECLARED).slice(1)), read(open));
  assert.equal(tidied(open, DECLARED), "./?model=tiny&layer=2#text=Hi+%26+so&batch.text=Two&run=%7B%7D");
  assert.equal(tidied("?lesson=attention&step=4", DECLARED), "./?lesson=attention&step=4");
});

test("what comes after # wins; the name of an element is not a parameter", () => {
  assert.deepEqual(read("?text=old#text=new"), { text: "new" });
  assert.deepEqual(read("?text=old#main-1"), { text: "old" });
});

test("a parameter is added before what comes after #", () => {
  assert.equal(withParam("/#text=Hi", "lang", "ja"), "/?lang=ja#text=Hi");
  assert.equal(withParam("/?head=1#text=Hi", "lang", "ja"), "/?head=1&lang=ja#text=Hi");
});

test("unreadable values are left out", () => {
  assert.deepEqual(read("?run={no&layer=x&attention.as=clouds&embedding.swap=1&nobody.knows=1&top_p=7"), {});
});

test("a view's state is merged, and reset where it belongs to a sentence", () => {
  const store = createStore({ ...DEFAULTS, viewState: { attention: { as: "lines" } } });
  store.set(embedding.patch({ swap: [1, 2], tab: "swap" }));
  assert.deepEqual(attention.of(store.get()), { step: "weights", as: "lines", heads: null, unit: "tokens" });
  store.set({ viewState: mergedViewState(anotherSentence(DECLARED), {}) });
  assert.deepEqual(embedding.of(store.get()), { tab: "swap", length: null, neighbour: null, swap: null });
  store.set({ viewState: null });
  assert.deepEqual(store.get().viewState, {});
});

test("setting the same values notifies nobody", () => {
  const store = createStore({ ...DEFAULTS, cell: [1, 2], viewState: { attention: { heads: [1] } } });
  let woken = 0;
  store.subscribe(() => woken++);
  store.set({ cell: [1, 2], layer: 0, ...attention.patch({ heads: [1] }) });
  assert.equal(woken, 0);
});
