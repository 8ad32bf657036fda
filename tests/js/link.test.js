/** A link reproduces the picture, and so do older links. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { DECLARED as OF_THE_PAGE } from "../../static/page.js";
import { own as comparedToken } from "../../static/panels/compare/own.js";
import { choice, index, indices, pair, text, typed } from "../../static/state/fields.js";
import { impliedLevel } from "../../static/state/levels.js";
import { linkOf, readLink, tidied } from "../../static/state/link.js";
import { anotherSentence, mergedOwn, ownState } from "../../static/state/own.js";
import { withParam } from "../../static/state/params.js";
import { createStore, DEFAULTS } from "../../static/state/store.js";
import { own as walk } from "../../static/stations/computation/own.js";
import { own as lens } from "../../static/stations/prediction/own.js";

/** @import { State } from "../../static/state/store.js" */

const attention = ownState("attention", {
  step: choice("weights", "qk", "scaled", "masked"),
  as: choice("matrix", "lines"),
  heads: indices("mean"),
  unit: choice("tokens", "words"),
});
const embedding = ownState("embedding", {
  tab: choice("sum", "positions", "swap", "neighbours"),
  length: index(null),
  neighbour: pair(),
  swap: { ...pair(), until: /** @type {const} */ ("sentence") },
});
const computation = ownState("computation", { step: text(null) });
const inspector = ownState("inspector", { norm: text(null) });
const prediction = ownState("prediction", {
  tab: choice("token", "layers"),
  layers_axis: choice("linear", "log"),
});
const DECLARED = [
  attention,
  embedding,
  computation,
  ownState("batch", { text: typed("") }),
  prediction,
  inspector,
  comparedToken,
];

/** @param {string} search */
const read = (search) => readLink(search, DECLARED);
/** @param {Partial<State>} state */
const write = (state) => linkOf({ ...DEFAULTS, ...state }, DECLARED);

test("a model and a text are written as they are", () => {
  assert.equal(write({ model: "tiny", text: "The cat", layer: 2 }), "/?model=tiny&layer=2#text=The+cat");
  assert.equal(write({}), "/");
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
    own: { attention: { as: "lines", heads: [0, 3] }, computation: { step: "attn.q" }, batch: { text: "so & so" } },
  };
  const link = linkOf(state, DECLARED);
  assert.deepEqual({ ...DEFAULTS, ...read(link.slice(1)) }, state);
});

test("the walk's pace, the lens's depth and the compared token are in the link", () => {
  const own = { computation: { pace: "4" }, prediction: { depth: 2 }, compare: { token: [3, 17] } };
  const link = linkOf({ ...DEFAULTS, model: "tiny", own }, OF_THE_PAGE);
  assert.deepEqual(readLink(link.slice(1), OF_THE_PAGE).own, own);
  const { searchParams } = new URL(link, "http://x");
  assert.deepEqual(
    ["computation.pace", "prediction.depth", "compare.token"].map((name) => searchParams.get(name)),
    ["4", "2", "3.17"],
  );
});

test("a link that does not name them opens as it did: 2 s a step, the last depth, the actual next token", () => {
  const opened = readLink("?model=tiny&view=computation&prediction.tab=layers&compare=on", OF_THE_PAGE);
  const state = { own: opened.own ?? {} };
  assert.deepEqual([walk.of(state).pace, lens.of(state).depth, comparedToken.of(state).token], ["2", null, null]);
  const odd = "?computation.pace=3&prediction.depth=-1&compare.token=7";
  assert.deepEqual(readLink(odd, OF_THE_PAGE), {}, "a pace that is not offered, and what is not a position");
});

test("the compared token belongs to its sentence", () => {
  const forgotten = anotherSentence(OF_THE_PAGE);
  assert.equal(forgotten.compare.token, null);
  assert.equal("pace" in (forgotten.computation ?? {}), false);
});

test("what a person typed comes after #, whatever kind of link it is", () => {
  const words = ["Secret & so?", "Geheim", "秘密"];
  const run = { input: { text: words[1] }, masks: { causal: false } };
  for (const state of [
    { model: "tiny", text: words[0], layer: 1 },
    { model: "tiny", text: words[0], target: words[1], head: 1 },
    { model: "tiny", text: words[0], compare: true, against: run },
    { model: "tiny", own: { batch: { text: words[2] }, attention: { as: "lines" } }, view: "ffn" },
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

test("an old link with its text in the query opens, and its text then comes after #", () => {
  const old = "?model=tiny&text=Hi+%26+so&target=Bye&layer=2&text2=Two&run={}";
  assert.deepEqual(read(tidied(old, DECLARED).slice(1)), read(old));
  assert.equal(tidied(old, DECLARED), "/?model=tiny&layer=2#text=Hi+%26+so&target=Bye&text2=Two&run=%7B%7D");
  assert.equal(tidied("?lesson=attention&step=4", DECLARED), "/?lesson=attention&step=4");
});

test("what comes after # wins; the name of an element is not a parameter", () => {
  assert.deepEqual(read("?text=old#text=new"), { text: "new" });
  assert.deepEqual(read("?text=old#main-1"), { text: "old" });
  assert.equal(impliedLevel("?text=Hi#main-1", "look"), "look");
});

test("a parameter is added before what comes after #", () => {
  assert.equal(withParam("/#text=Hi", "lang", "ja"), "/?lang=ja#text=Hi");
  assert.equal(withParam("/?head=1#text=Hi", "lang", "ja"), "/?head=1&lang=ja#text=Hi");
});

test("unreadable values are left out", () => {
  assert.deepEqual(read("?run={no&layer=x&attention.as=clouds&embedding.swap=1&nobody.knows=1&top_p=7"), {});
});

const OLD = {
  "model=tiny": { model: "tiny" },
  "text=Hi": { text: "Hi" },
  "ids=3.4": { ids: [3, 4] },
  "ids=3,4&text=Hi": { ids: [3, 4], text: "Hi" },
  "prompt=1": { nPrompt: 1 },
  "target=": { target: "" },
  "target=So": { target: "So" },
  "target_ids=1.2": { targetIds: [1, 2] },
  "attention=cross": { attention: "cross" },
  "layer=1": { layer: 1 },
  "head=2": { head: 2 },
  "query=3": { query: 3 },
  "key=0": { key: 0 },
  "view=ffn": { view: "ffn" },
  "causal=off": { causal: false },
  "causal=1": { causal: true },
  "pad=2": { padCount: 2 },
  "pad=9": {},
  "pad_side=right": { padSide: "right" },
  "padding=off": { padMask: false },
  "positions=count": { padFollow: false },
  "as=lines": { own: { attention: { as: "lines" } } },
  "heads=3.0": { own: { attention: { heads: [0, 3] } } },
  "heads=mean": { own: { attention: { heads: "mean" } } },
  "unit=words": { own: { attention: { unit: "words" } } },
  "weights.as=lines": { own: { attention: { as: "lines" } } },
  "weights.heads=mean": { own: { attention: { heads: "mean" } } },
  "why.norm=ffn": { own: { inspector: { norm: "ffn" } } },
  "change.token=3.17": { own: { compare: { token: [3, 17] } } },
  "view=lens": { view: "prediction", own: { prediction: { tab: "layers" } } },
  "lens.axis=log": { own: { prediction: { layers_axis: "log" } } },
  "weights.unit=words": { own: { attention: { unit: "words" } } },
  "view=scores": { view: "attention", own: { attention: { step: "scaled" } } },
  "view=mask": { view: "attention", own: { attention: { step: "masked" } } },
  "view=weights": { view: "attention", own: { attention: { step: "weights" } } },
  "text2=Bye": { own: { batch: { text: "Bye" } } },
  "step=attn.softmax": { own: { computation: { step: "attn.softmax" } } },
  "step=positions": { own: { embedding: { tab: "positions" } } },
  "step=positions.512": { own: { embedding: { tab: "positions", length: 512 } } },
  "step=neighbours.3.9": { own: { embedding: { tab: "neighbours", neighbour: [3, 9] } } },
  "step=swap": { own: { embedding: { tab: "swap" } } },
  "swap=1.3": { own: { embedding: { swap: [1, 3] } } },
  "cell=1.2": { cell: [1, 2] },
  "unit_id=4": { ffnUnit: 4 },
  "answer=5": { answer: 5 },
  "quiz=on": { quiz: true },
  "compare=on": { compare: true },
  "temperature=0.5": { temperature: 0.5 },
  "top_k=3": { topK: 3 },
  "top_p=0.5": { topP: 0.5 },
  "seed=1": { seed: 1 },
};
for (const [search, opens] of Object.entries(OLD)) {
  test(`an old link with ${search} opens what it opened`, () => assert.deepEqual(read(`?${search}`), opens));
}

for (const search of [
  "?attention.as=lines&as=matrix",
  "?as=matrix&attention.as=lines",
  "?attention.as=lines&weights.as=matrix",
]) {
  test(`a current parameter wins over an old one: ${search}`, () =>
    assert.deepEqual(read(search), { own: { attention: { as: "lines" } } }));
}

test("a current parameter wins over `step`, which served three views", () =>
  assert.deepEqual(read("?embedding.tab=swap&step=positions.512"), {
    own: { embedding: { tab: "swap", length: 512 } },
  }));

test("a run wins over its old parts", () => assert.deepEqual(read('?run={"pad":{"count":1}}&pad=3'), { padCount: 1 }));

test("the parts of a run in an old link are combined", () => {
  const search = "?model=tiny&text=Hi&pad=2&pad_side=right&padding=off&positions=count&causal=off";
  const run = {
    model: "tiny",
    text: "Hi",
    padCount: 2,
    padSide: "right",
    padMask: false,
    padFollow: false,
    causal: false,
  };
  assert.deepEqual(read(search), run);
});

test("a view's own state is merged, and reset where it belongs to a sentence", () => {
  const store = createStore({ ...DEFAULTS, own: { attention: { as: "lines" } } });
  store.set(embedding.patch({ swap: [1, 2], tab: "swap" }));
  assert.deepEqual(attention.of(store.get()), { step: "weights", as: "lines", heads: null, unit: "tokens" });
  store.set({ own: mergedOwn(anotherSentence(DECLARED), {}) });
  assert.deepEqual(embedding.of(store.get()), { tab: "swap", length: null, neighbour: null, swap: null });
  store.set({ own: null });
  assert.deepEqual(store.get().own, {});
});

test("setting the same values notifies nobody", () => {
  const store = createStore({ ...DEFAULTS, cell: [1, 2], own: { attention: { heads: [1] } } });
  let woken = 0;
  store.subscribe(() => woken++);
  store.set({ cell: [1, 2], layer: 0, ...attention.patch({ heads: [1] }) });
  assert.equal(woken, 0);
});
