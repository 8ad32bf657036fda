/** A Step asks for one generation and at most one trace, whatever place of the page is open. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createLoader } from "../../static/data/loader.js";
import { createTraces } from "../../static/data/traces.js";
import { attentionsOf } from "../../static/model/description.js";
import { named as namedOf } from "../../static/model/taps.js";
import { showingIds } from "../../static/model/written.js";
import { DEFAULTS } from "../../static/state/store.js";
import { VIEWS } from "../../static/views/index.js";
import { PANELS } from "../../static/views/panels.js";
import { hasView } from "../../static/views/view.js";

/** @import { State } from "../../static/state/store.js" */

const read = (/** @type {string} */ name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
const { decoder, translator } = read("descriptions.json");
const { wkv } = read("mechanisms.json");
const DRAWERS = [null, ...PANELS.filter(({ frame }) => frame.place === "drawer").map(({ id }) => id)];
const PROMPT = [1, 2, 3];
const token = (/** @type {number} */ id, /** @type {number} */ index) => ({
  ...{ index, id, text: "x", bytes: "78", start: index, end: index + 1, partial: false, special: false },
});
const tokensOf = (/** @type {number[]} */ ids) => ids.map(token);

/** @param {any} described @returns {any} */
const named = ({ config, description }) => ({
  ...{ name: "tiny", config, description, max_seq_len: 64, special: {}, never_sampled: [] },
  ...{ vocab_size: description.vocab_size, weights: {}, languages: ["en"] },
});

/** A server of zeros: what was asked of /api/trace is noted. @param {any} model */
function server(model) {
  /** @type {any[]} */
  const asked = [];
  /** @param {any} request */
  const trace = async (request) => {
    asked.push(request);
    const ids = { source: request.token_ids ?? PROMPT, target: request.target_ids ?? [0] };
    const tensors = Object.fromEntries([
      ...request.want.map((/** @type {string} */ name) => [name, zeros(model, name, ids)]),
      ...(request.detail?.want ?? []).map((/** @type {string} */ name) => [
        `detail/${name}`,
        zeros(model, name, ids, 1),
      ]),
    ]);
    for (const name of request.whole ?? []) tensors[`whole/${name}`] = zeros(model, name, ids);
    const rows = request.predict && (request.predict.positions ?? [ids.source.length - 1]);
    const predictions = rows?.map((/** @type {number} */ position) => ({ position, candidates: [] }));
    const target = model.description.writes === "target" ? { target_tokens: tokensOf(ids.target) } : {};
    const position_ids = ids.source.map((/** @type {number} */ _, /** @type {number} */ at) => at);
    const said = {
      model: "tiny",
      tokens: tokensOf(ids.source),
      ...target,
      position_ids,
      masks: { causal: true },
      pool: 1,
    };
    const detail = request.detail && { heads: request.detail.heads };
    return { meta: { ...said, predictions, detail, heads: request.heads ?? null }, tensors };
  };
  const api = { trace, tokenize: async () => ({ encodings: [] }), weights: async () => ({ tensors: {} }) };
  return { asked, api: { ...api, explain: async () => ({}) } };
}

/** @param {any} model @param {string} name @param {Record<string, number[]>} ids @param {number} [heads] */
function zeros(model, name, ids, heads) {
  for (const one of attentionsOf(model)) {
    const [queries, keys] = [ids[one.queries].length, ids[one.keys].length];
    const sizes = { head: heads ?? one.n_head, kv_head: heads ?? one.n_kv_head, query: queries, key: keys };
    for (const { taps, dims, rows } of Object.values(one.roles)) {
      if (!taps.includes(name)) continue;
      const all = { ...sizes, position: rows === "key" ? keys : queries, d_head: one.d_head };
      const shape = dims.split(" ").map((dim) => /** @type {any} */ (all)[dim] ?? 2);
      const size = shape.reduce((product, n) => product * n, 1);
      return {
        shape,
        dims: dims.split(" "),
        data: name.endsWith("mask") ? new Uint8Array(size) : new Float32Array(size),
      };
    }
  }
  return { shape: [1], dims: ["any"], data: new Float32Array(1) };
}

/** What the panels of a state need; code and measured ablations are no traces. @param {State} state @param {any} model */
function needsOf(state, model) {
  const views = VIEWS.filter(({ id }) => id === state.view);
  const shown = [...views, ...PANELS.filter((panel) => panel.shown?.(state) ?? true)];
  const all = shown
    .filter((view) => hasView(view, model, state))
    .flatMap(({ needs, also }) =>
      [needs, also ?? []].flatMap((one) => (typeof one === "function" ? one(state, model) : one)),
    );
  const them = all.map((need) => namedOf(need, state, model));
  return new Set(them.filter((need) => need !== "ablations" && !need.startsWith("code:")));
}

/** The row of a new token: zeros, in every attention of the stack that writes. @param {any} model @param {number} n */
function rowsOf(model, n) {
  const { writes, logits } = model.description;
  const own = attentionsOf(model).filter(({ stack }) => stack === logits.stack);
  return Object.fromEntries(
    own.map(({ id, keys, n_layer, n_head }) => {
      const length = keys === writes ? n : PROMPT.length;
      return [id, { shape: [n_layer, n_head, length], data: new Uint8Array(n_layer * n_head * length) }];
    }),
  );
}

/** @param {any} model */
const lastHead = (model) => ({ layer: attentionsOf(model)[0].n_layer - 1, head: 1 });

/** What a Step asks of /api/trace at a place. @param {any} model @param {Partial<State>} at */
async function tracesOfStep(model, at) {
  const { asked, api } = server(model);
  const traces = createTraces(/** @type {any} */ (api), { modelNamed: () => model });
  const bring = async () => {};
  const loader = createLoader(traces, { modelNamed: () => model, bring, onWait: () => {} });
  const start = { ...DEFAULTS, start: false, model: "tiny", ...lastHead(model), text: "a", ...at };
  const writesTarget = model.description.writes === "target";
  const begun = writesTarget ? [0, 4] : [...PROMPT, 4];
  const before = { ...start, ...showingIds(start, /** @type {any} */ ({ ...model }), begun, begun.length - 1) };
  await loader.load(before, needsOf(before, model), () => {});
  const ids = [...begun, 5];
  const after = { ...before, ...showingIds(before, /** @type {any} */ ({ ...model }), ids, begun.length - 1) };
  const step = { index: begun.length, token: token(5, begun.length), rows: rowsOf(model, ids.length), seconds: 0 };
  const prediction = { position: begun.length, candidates: [] };
  traces.learn(before, after, { ...step, prediction, cache: { computed: 1 } });
  asked.length = 0;
  await loader.load(after, needsOf(after, model), () => {});
  return asked;
}

/** What an edit of a mask asks of /api/trace at a place, of the edited run. @param {any} model @param {Partial<State>} at */
async function tracesOfEdit(model, at) {
  const { asked, api } = server(model);
  const traces = createTraces(/** @type {any} */ (api), { modelNamed: () => model });
  const loader = createLoader(traces, { modelNamed: () => model, bring: async () => {}, onWait: () => {} });
  const before = { ...DEFAULTS, start: false, model: "tiny", ...lastHead(model), text: "a", ...at };
  await loader.load(before, needsOf(before, model), () => {});
  const [{ id: attention }] = attentionsOf(model);
  const hidden = { kind: "mask", where: { attention, layer: before.layer, query: 2, key: 0 }, allow: false };
  const after = { ...before, interventions: /** @type {any} */ ([hidden]) };
  asked.length = 0;
  await loader.load(after, needsOf(after, model), () => {});
  return asked.filter((one) => one.interventions);
}

const HEAD_OFF = { kind: "ablate", where: { attention: "self", layer: 0, head: 0 } };

for (const [name, described] of Object.entries({ decoder, translator, wkv }))
  test(`${name}: a Step asks for at most one trace, at every place and with every drawer`, async () => {
    const model = named(described);
    const places = VIEWS.flatMap(({ id }) => DRAWERS.map((drawer) => ({ view: id, drawer })));
    const asked = await Promise.all(places.map((at) => tracesOfStep(model, at)));
    const wrong = places.flatMap((at, index) => (asked[index].length > 1 ? [{ ...at, asked: asked[index] }] : []));
    assert.deepEqual(wrong, []);
    assert.ok(asked.some((one) => one.length === 1));
  });

for (const [name, described, at] of /** @type {[string, any, Partial<State>][]} */ ([
  ["decoder", decoder, {}],
  ["decoder, at a row", decoder, { query: 1, key: 0 }],
  ["wkv", wkv, {}],
  ["translator", translator, { attention: "decoder", targetIds: [0, 4, 5], query: 2 }],
]))
  test(`${name}: an edit of a mask asks for one trace of the edited run, at every place and with every drawer`, async () => {
    const model = named(described);
    const places = VIEWS.flatMap(({ id }) => DRAWERS.map((drawer) => ({ ...at, view: id, drawer })));
    const asked = await Promise.all(places.map((place) => tracesOfEdit(model, place)));
    const wrong = places.flatMap((place, index) =>
      asked[index].length === 1 ? [] : [{ ...place, asked: asked[index] }],
    );
    assert.deepEqual(wrong, []);
  });

test("keys and values of all layers come with the pictures of an edited run", async () => {
  const model = named(decoder);
  const [one] = await tracesOfEdit(model, { view: "attention", drawer: "cache" });
  const [{ roles }] = attentionsOf(model);
  assert.deepEqual(
    one.whole,
    roles.k.taps.flatMap((/** @type {string} */ k, /** @type {number} */ i) => [k, roles.v.taps[i]]),
  );
  assert.deepEqual([one.dtype, one.detail.heads], ["uint8", [1]]);
});

test("a Step brings the state of every layer with the open head", async () => {
  const [one] = await tracesOfStep(named(wkv), { view: "attention", drawer: "cache" });
  assert.deepEqual(one.detail.heads, [1]);
  assert.deepEqual(one.want.slice(-2), ["layers.0.attn.state_log_sum", "layers.0.attn.state_mean"]);
});

test("what would make the pictures late comes after them", async () => {
  const model = named(decoder);
  const long = { text: "a".repeat(399), ids: null };
  const wide = {
    ...model,
    description: {
      ...model.description,
      attentions: model.description.attentions.map((/** @type {any} */ one) => ({ ...one, d_head: 1024 })),
    },
  };
  const [first, second] = await tracesOfEdit(wide, { ...long, view: "attention", drawer: "cache" });
  assert.equal(first.whole, undefined);
  assert.equal(second.want.length, 4);
});

test("a Step with a head switched off asks for at most one trace of each of the two runs", async () => {
  const interventions = /** @type {any} */ ([HEAD_OFF]);
  for (const view of ["model", "attention", "av", "ffn"])
    for (const drawer of [null, "cache"]) {
      const asked = await tracesOfStep(named(decoder), { view, drawer, interventions });
      const edited = asked.filter((one) => one.interventions).length;
      assert.ok(edited <= 1 && asked.length - edited <= 1, JSON.stringify(asked));
    }
});

test("the open head with keys and values of all layers is one request", async () => {
  const model = named(decoder);
  const [one] = await tracesOfStep(model, { view: "attention", drawer: "cache" });
  const [{ n_layer }] = attentionsOf(model);
  assert.equal(one.want.length, 2 * n_layer);
  assert.deepEqual(one.detail.heads, [1]);
  assert.ok(one.detail.want.includes("layers.1.attn.scores"));
});

test("what was shown before an edit is known: its undo asks for no trace", async () => {
  const model = named(decoder);
  const { asked, api } = server(model);
  const traces = createTraces(/** @type {any} */ (api), { modelNamed: () => model });
  const loader = createLoader(traces, { modelNamed: () => model, bring: async () => {}, onWait: () => {} });
  const before = { ...DEFAULTS, start: false, model: "tiny", text: "a", view: "attention" };
  const after = { ...before, interventions: /** @type {any} */ ([HEAD_OFF]) };
  assert.ok(!loader.knows(before));
  await loader.load(before, needsOf(before, model), () => {});
  assert.ok(loader.knows(before) && !loader.knows(after));
  await loader.load(after, needsOf(after, model), () => {});
  asked.length = 0;
  await loader.load(before, needsOf(before, model), () => {});
  assert.deepEqual(asked, []);
});
