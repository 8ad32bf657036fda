/** Which token a row of a translation stands for, and which row is chosen by default. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isContent } from "../../static/model/labels.js";
import { position } from "../../static/model/selection.js";
import {
  queryName,
  rowLabels,
  rowOfToken,
  standsForWritten,
  tellingRow,
  tokenOfRow,
  writtenNames,
} from "../../static/model/written.js";
import { choosesWritten } from "../../static/views/places.js";

const [CROSS, SELF] = [
  { id: "cross", stack: "decoder", queries: "target", keys: "source", n_layer: 1, n_head: 2 },
  { id: "decoder", stack: "decoder", queries: "target", keys: "target", n_layer: 1, n_head: 2 },
];

/** @param {string[]} words @param {"source"|"target"} name */
const side = (words, name) => ({
  side: name,
  tokens: words.map((text, id) => ({
    ...{ id, index: id, text, bytes: "", start: 0, end: text.length, partial: false },
    special: text.startsWith("<"),
  })),
  real: { start: 0, end: words.length },
});

const source = side(["I", " ate", " apples", "."], "source");
const target = side(["<|start|>", "リンゴ", "を", "食べた", "。"], "target");
/** Row 0 writes リンゴ and so on; the last two attend to the full stop. */
const WEIGHTS = [
  [0.1, 0.1, 0.7, 0.1],
  [0.0, 0.0, 0.9, 0.1],
  [0.0, 0.8, 0.1, 0.1],
  [0.0, 0.0, 0.0, 1.0],
  [0.0, 0.0, 0.0, 1.0],
];

/** @param {any} attention @param {Object<string, any>} [more] */
const traceOf = (attention, more = {}) =>
  /** @type {any} */ ({
    ...{
      model: { special: {} },
      attentions: [SELF, CROSS],
      attention,
      sides: { source, target },
      targetFrom: "greedy",
    },
    ...{ queries: target, keys: attention.keys === "source" ? source : target, written: target, nLayer: 1, nHead: 2 },
    row: (/** @type {number} */ _, /** @type {number} */ head, /** @type {number} */ row) =>
      WEIGHTS[row].map((one) => one * (1 + head)),
    ...more,
  });

test("without a prediction, the row is the last one under a causal mask, and [CLS] where every token sees all", () => {
  const shown = (/** @type {boolean} */ causal) => {
    const model = { special: {}, description: { attentions: [{ ...SELF, causal }] } };
    const trace = traceOf(SELF, { model, targetFrom: null, written: null, queries: source, keys: source });
    return position(/** @type {any} */ ({ query: null, key: null, layer: 0, head: 0 }), trace).query;
  };
  assert.deepEqual([shown(true), shown(false)], [3, 0]);
});

test("a click on a written word chooses the row that writes it, and that row highlights the word", () => {
  assert.ok(standsForWritten(CROSS));
  assert.ok(!standsForWritten(SELF) && !standsForWritten({ queries: "source", keys: "source" }));
  for (const token of [1, 2, 3, 4]) assert.equal(tokenOfRow(rowOfToken(token, true), true), token);
  assert.equal(rowOfToken(0, true), 0, "nothing writes START");
  assert.equal(rowOfToken(3, false), 3, "in a self-attention the token itself attends");
});

test("rows of a cross-attention are called by what they write, the last by what is to come", () => {
  assert.deepEqual(writtenNames(target.tokens), ["⇒ リンゴ", "⇒ を", "⇒ 食べた", "⇒ 「。」", "⇒ …"]);
  const names = (/** @type {any} */ attention) => [2, 4].map((row) => queryName(traceOf(attention), row));
  assert.deepEqual(names(CROSS), ["食べた", "…"]);
  assert.deepEqual(names(SELF), ["を", "「。」"]);
});

test("a row stands for what it writes in the whole model, at the prediction and in a head of the cross-attention", () => {
  const model = /** @type {any} */ ({
    description: {
      stacks: [{ id: "encoder" }, { id: "decoder" }],
      predicts: "next",
      writes: "target",
      attentions: [SELF, CROSS],
    },
  });
  const at = (/** @type {string} */ view, /** @type {string|null} */ attention = null) =>
    choosesWritten(/** @type {any} */ ({ view, attention }), model);
  assert.deepEqual([at("model"), at("prediction"), at("attention"), at("qkv")], [true, true, true, true]);
  assert.deepEqual([at("attention", "decoder"), at("ffn"), at("embedding")], [false, false, false]);
});

test("a finished translation opens at the word of content that attends most to one", () => {
  assert.deepEqual(
    source.tokens.map((token) => isContent(/** @type {any} */ (token))),
    [false, true, true, false],
  );
  const trace = traceOf(CROSS);
  assert.equal(tellingRow(trace), 2, "を attends most, and holds only the sentence together");
  const state = /** @type {any} */ ({ query: null, key: 0, layer: 0, head: 0 });
  assert.equal(position(state, trace).query, 2);
  assert.equal(position({ ...state, query: 4 }, trace).query, 4);
  assert.equal(position(state, { ...trace, targetFrom: "request" }).query, 4, "of one that is being written, the last");
  const masked = traceOf(CROSS, { model: trace.model, row: () => [0, 0, 0, 1] });
  assert.equal(position(state, masked).query, 2, "a mask does not move the choice");
  assert.equal(tellingRow(traceOf(CROSS, { row: () => null })), null, "pooled weights are not here");
});

test("tables and files name a row of a cross-attention by what it writes, too; every other row by its token", () => {
  assert.deepEqual(rowLabels(traceOf(CROSS)), [
    "START ⇒ リンゴ",
    "リンゴ ⇒ を",
    "を ⇒ 食べた",
    "食べた ⇒ 。",
    "。 ⇒ …",
  ]);
  assert.deepEqual(rowLabels(traceOf(SELF)), ["START", "リンゴ", "を", "食べた", "。"]);
});
