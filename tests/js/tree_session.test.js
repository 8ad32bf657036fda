/** How the tree of texts grows while a page steps, goes back, takes a candidate, and edits the run. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { requestOf } from "../../static/data/request.js";
import { taken } from "../../static/model/written.js";
import { createStore, DEFAULTS } from "../../static/state/store.js";
import { nodeAt, textAt, wayTo } from "../../static/state/text_tree.js";
import { createSession } from "../../static/views/generation/session.js";

const { decoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const MODEL = { ...decoder, name: "model", max_seq_len: 64, special: {}, never_sampled: [] };
const PROMPT = [1, 2, 3];
const OFF = { kind: "ablate", where: { layer: 0, role: "z", head: 1 } };

/** @param {number} id */
const token = (id) => ({ id, text: ` ${id}`, bytes: "", partial: false, special: false });
const candidates = [7, 8, 9].map((id, i) => ({ ...token(id), before: 0.5 - i / 10, after: 0.6 - i / 5 }));
const settings = { temperature: 0.8 };

/** A page that shows the text "hi". */
function page() {
  const store = createStore(/** @type {any} */ ({ ...DEFAULTS, model: "model", text: "hi" }));
  /** @type {any} */
  const actions = { get: store.get, set: store.set, learn: () => {} };
  const session = createSession(actions);
  /** @returns {any} */
  const traceNow = () => {
    const ids = store.get().ids ?? PROMPT;
    const side = { side: "source", tokens: ids.map(token), real: { start: 0, end: ids.length } };
    const predictions = { [ids.length - 1]: { candidates, settings } };
    return {
      model: MODEL,
      key: JSON.stringify(requestOf(store.get())),
      written: side,
      keys: side,
      queries: side,
      predictions,
    };
  };
  const arrive = async () => {
    session.follow(traceNow());
    await null; // what it has found is set after the drawing
  };
  /** @param {number} id */
  const step = async (id) => {
    const now = /** @type {any} */ (session.path());
    session.advance(now, {
      token: token(id),
      before: 0.3,
      after: 0.4,
      u: 0.2,
      from: { candidates, settings },
      prediction: { candidates },
    });
    await arrive();
  };
  const shown = () => {
    const { tree } = store.get();
    return wayTo(tree, session.here()).map((at) => [nodeAt(tree, at).how, ...nodeAt(tree, at).ids]);
  };
  return { store, session, actions, traceNow, arrive, step, shown };
}

test("steps are kept with what drew them; Back keeps them ahead", async () => {
  const { store, session, arrive, step, shown } = page();
  await arrive();
  assert.equal(store.get().tree.nodes.length, 0); // a sentence alone needs no tree …
  assert.deepEqual(textAt(session.tree(), session.here()), { ids: PROMPT, nPrompt: 3 }); // … and is shown as its beginning
  await step(7);
  await step(8);
  assert.deepEqual(shown(), [
    ["prompt", 1, 2, 3],
    ["drawn", 7],
    ["drawn", 8],
  ]);
  const { tree } = store.get();
  const { p, after, u, seed } = nodeAt(tree, session.here());
  assert.deepEqual({ p, after, u, seed }, { p: 0.3, after: 0.4, u: 0.2, seed: DEFAULTS.seed });
  session.back();
  await arrive();
  assert.deepEqual([store.get().ids, session.undone()], [[...PROMPT, 7], [8]]);
  session.restart();
  await arrive();
  assert.deepEqual([store.get().ids, session.undone()], [PROMPT, [7, 8]]);
});

test("a step is the newest until something is chosen, opened or changed, and again when that is undone", async () => {
  const { store, session, arrive, step } = page();
  await arrive();
  assert.equal(session.isNewest(), false);
  store.set({ interventions: [OFF] });
  await arrive();
  await step(7); // also after an edit
  assert.equal(session.isNewest(), true);
  store.set({ theme: "dark", drawer: "cache" });
  assert.equal(session.isNewest(), true);
  const acts = [{ query: 1 }, { key: 1 }, { view: "ffn" }, { head: 3 }, { interventions: [] }, { padCount: 1 }];
  for (const act of /** @type {any[]} */ (acts)) {
    const before = store.get();
    store.set(act);
    assert.equal(session.isNewest(), false, JSON.stringify(act));
    store.set(before);
    assert.equal(session.isNewest(), true);
  }
  session.back();
  assert.equal(session.isNewest(), false);
});

test("another candidate forks, with the probability that it was offered with", async () => {
  const { store, session, traceNow, arrive, step, shown } = page();
  await arrive();
  await step(7);
  session.back();
  await arrive();
  store.set(taken(traceNow(), store.get(), PROMPT.length - 1, 9));
  await arrive();
  assert.deepEqual(shown(), [
    ["prompt", 1, 2, 3],
    ["taken", 9],
  ]);
  const { p, after } = nodeAt(store.get().tree, session.here());
  assert.deepEqual([p, after], [candidates[2].before, candidates[2].after]);
  const told = /** @type {any} */ (session.taken([...PROMPT, 9]));
  assert.deepEqual([told.before, told.from.candidates[0].id], [p, 7]);
  assert.equal(session.taken([...PROMPT, 7]), undefined); // it was drawn
  assert.equal(session.isNewest(), true);
  store.set({ head: 3 });
  assert.equal(session.isNewest(), false);
  assert.equal(store.get().tree.nodes.length, 3);
});

test("the same seed with and without an edit are two nodes; going to one brings its edit", async () => {
  const { store, session, arrive, step, shown } = page();
  await arrive();
  await step(7);
  const plain = session.here();
  session.restart();
  store.set({ interventions: [OFF] });
  await arrive();
  await step(7);
  const edited = session.here();
  assert.notEqual(plain, edited);
  assert.deepEqual(shown(), [["prompt", 1, 2, 3], ["edited"], ["drawn", 7]]);
  const { tree } = store.get();
  assert.deepEqual(textAt(tree, plain), textAt(tree, edited));
  session.goTo(plain);
  await arrive();
  assert.deepEqual([store.get().interventions, session.here()], [[], plain]);
  session.goTo(edited);
  await arrive();
  assert.deepEqual([store.get().interventions, session.here()], [[OFF], edited]);
});

test("a pruned branch is left for what it grew from, and comes back by Undo", async () => {
  const { store, session, arrive, step } = page();
  await arrive();
  await step(7);
  await step(8);
  const at = session.here();
  session.prune(wayTo(store.get().tree, at)[1]);
  await arrive();
  assert.deepEqual(store.get().ids, PROMPT);
  assert.deepEqual(session.undone(), []);
  session.undo();
  assert.deepEqual(textAt(store.get().tree, at).ids, [...PROMPT, 7, 8]);
});

test("of two compared texts of which one begins the other, none is the other text", async () => {
  const { store, session, arrive, step } = page();
  await arrive();
  await step(7);
  await step(8);
  session.back();
  await arrive();
  const [shorter, longer] = [session.here(), store.get().tree.tip];
  session.pick(shorter);
  session.goTo(longer);
  await arrive();
  session.pick(longer);
  store.set({ drawer: "generation" });
  for (const at of [longer, shorter]) {
    session.goTo(at);
    await arrive();
    assert.equal(session.other(), null);
  }
  store.set({ interventions: [OFF] });
  session.restart();
  await arrive();
  await step(7); // the same text in another run
  store.set({ tree: { ...store.get().tree, pair: [shorter, session.here()] } });
  assert.equal(session.other(), null);
});

test("what another request writes is of the run that it began under; another text, model or edit ends it", async () => {
  const { store, session, arrive, step } = page();
  await arrive();
  await step(7);
  const writing = session.writing(/** @type {any} */ (session.path()));
  /** @type {[string, object][]} */
  const others = [
    ["edit", { interventions: [OFF] }],
    ["mask", { causal: false }],
    ["sentence", { text: "Another", ids: null, nPrompt: null }],
    ["model", { model: "other" }],
    ["branch", { ids: [...PROMPT, 8] }],
    ["shorter text", { ids: PROMPT }],
  ];
  for (const [name, patch] of others) {
    const before = store.get();
    assert.ok(writing.isShown(), name);
    store.set(patch);
    assert.ok(!writing.isShown(), name);
    store.set(before);
  }
  await step(8);
  assert.ok(writing.isShown(), "what goes on from it");
  store.set({ interventions: [OFF] });
  writing.grow([{ ids: [...PROMPT, 7, 9], told: { how: "drawn", p: 0.5 } }]);
  const { tree } = store.get();
  const node = tree.nodes.find((one) => one?.ids[0] === 9);
  assert.deepEqual(node && tree.runs[node.run], { model: "model", text: "hi" });
});

test("a link without a tree says that its tokens came with it", async () => {
  const { store, arrive, shown } = page();
  store.set({ ids: [...PROMPT, 7, 9], nPrompt: 3 });
  await arrive();
  assert.deepEqual(shown(), [
    ["prompt", 1, 2, 3],
    ["given", 7],
    ["given", 9],
  ]);
});

test("another token is written in the place of one, and what is not known of a text is asked for once", async () => {
  const { store, session, arrive, step, actions } = page();
  await arrive();
  await step(7);
  await step(8);
  const way = wayTo(session.tree(), session.here());
  assert.deepEqual(
    session.offered(way[0]).map(({ id }) => id),
    [7, 8, 9],
  );
  session.instead(way[0], 9);
  await arrive();
  assert.deepEqual([store.get().ids, store.get().nPrompt], [[...PROMPT, 9], 3]);

  const asked = /** @type {number[][]} */ ([]);
  actions.alternatives = async (/** @type {any} */ _, /** @type {number[]} */ positions) => {
    asked.push(positions);
    return positions.map((position) => ({ position, candidates: [token(5)] }));
  };
  store.set({ ids: [...PROMPT, 4, 6], nPrompt: 3 }); // as a link brings it
  await arrive();
  await new Promise((resolve) => session.askOffered(() => resolve(null)));
  const linked = wayTo(session.tree(), session.here());
  assert.deepEqual([asked, session.offered(linked[1]).map(({ id }) => id)], [[[3]], [5]]);
  session.askOffered(() => assert.fail("asked again"));
  assert.equal(asked.length, 1);
});

test("of a long text the last alternatives are asked for first, then the others; what failed is asked again, what is refused is not", async () => {
  const { store, session, arrive, actions } = page();
  const asked = /** @type {number[][]} */ ([]);
  let error = /** @type {any} */ (Object.assign(new Error("cancelled"), { name: "AbortError" }));
  actions.alternatives = async (/** @type {any} */ _, /** @type {number[]} */ positions) => {
    asked.push([positions.length, positions[0]]);
    if (error) throw error;
    return positions.map((position) => ({ position, candidates: [token(5)] }));
  };
  const ask = async () => {
    let again = false;
    session.askOffered(() => {
      again = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 0));
    return again;
  };
  const ids = Array.from({ length: 100 }, (_, i) => i);
  store.set({ ids, nPrompt: 1 });
  await arrive();
  assert.equal(await ask(), false);
  assert.deepEqual(asked.splice(0), [[64, 35]]);
  error = null;
  assert.equal(await ask(), true);
  assert.equal(await ask(), true);
  assert.equal(await ask(), false);
  assert.deepEqual(asked.splice(0), [
    [64, 35],
    [35, 0],
  ]); // prettier-ignore
  const way = wayTo(session.tree(), session.here());
  assert.ok(way.slice(0, -1).every((at) => session.offered(at).length === 1));

  store.set({ ids: ids.toReversed() });
  await arrive();
  error = Object.assign(new Error("too long"), { status: 422 });
  await ask();
  await ask();
  assert.equal(asked.length, 1);
});
