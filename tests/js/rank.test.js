/** Heads ranked by what switching each off changes: their order, their maps, and what is said of them. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { effectMaps, mostNeeded } from "../../static/model/ablations.js";
import { createRanking, effectWords } from "../../static/views/rank/effects.js";
import { testWith } from "./words.js";

/** @import { Ablation, AblationStart } from "../../static/data/streams.js" */

const read = (/** @type {string} */ file) =>
  JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));
const test = testWith(read("static/i18n/en.json"));
Object.assign(globalThis, { document: { documentElement: { lang: "en", dataset: {} } } });
const { decoder, translator } = read("tests/js/descriptions.json");

/** @param {number} layer @param {number} head @param {number} delta @param {number} kl @param {string} [attention] @returns {Ablation & {kind: "head"}} */
const head = (layer, head, delta, kl, attention = "self") => ({
  ...{ kind: "head", attention, layer, head, p: 0.9 * Math.exp(delta), delta, kl },
});
/** @type {Ablation} */
const FFN = { kind: "ffn", stack: "main", layer: 1, p: 0.1, delta: -9, kl: 7 };
const token = { id: 7, text: " car", bytes: "20636172", partial: false, special: false };
/** @type {AblationStart} */
const START = { answer: 7, row: 3, p: 0.9, parts: 6, tokens: { 7: token }, classes: [] };
const said = (/** @type {any} */ model, /** @type {Ablation} */ one) => effectWords(model, one, START);

test("the heads whose absence lowers the answer most come first; by KL, those that change most", () => {
  const found = [head(0, 0, 0.4, 0.5), head(0, 1, -0.2, 0.1), FFN, head(1, 0, -1.1, 0.4), head(1, 1, 0, 0)];
  const named = (/** @type {"delta"|"kl"} */ by, n = 5) => mostNeeded(found, by, n).map((one) => [one.layer, one.head]);
  assert.deepEqual(named("delta"), [
    [1, 0],
    [0, 1],
  ]); // prettier-ignore
  assert.deepEqual(named("kl", 2), [
    [0, 0],
    [1, 0],
  ]); // prettier-ignore
});

test("a map has a row for each layer, a column for each head, and the FFNs of its stack once", () => {
  const [map] = effectMaps(decoder, [head(1, 0, -1, 1), { ...FFN, stack: decoder.description.stacks[0].id }]);
  assert.deepEqual([map.shape, map.ffnOf], [[2, 3], decoder.description.stacks[0].id]);
  assert.deepEqual(
    map.parts.map((one) => one?.kl ?? null),
    [null, null, null, 1, null, 7],
  );
  assert.deepEqual(
    effectMaps(translator, []).map(({ attention, ffnOf, shape }) => [attention, ffnOf, shape[1]]),
    [
      ["encoder", "encoder", 3],
      ["decoder", null, 2],
      ["cross", "decoder", 3],
    ],
  );
});

test("what a head does is said with both probabilities", () => {
  assert.equal(said(decoder, head(1, 0, -1.1, 1)), "Without head 1·0, car falls from 90\u202f% to 30\u202f%");
  assert.equal(said(decoder, head(1, 0, 0.05, 1)), "Without head 1·0, car rises from 90\u202f% to 95\u202f%");
  assert.equal(said(decoder, head(1, 0, -1e-4, 1)), "Without head 1·0, car stays at 90\u202f%");
  assert.match(said(translator, head(1, 0, -1.1, 1, "cross")), /^Without cross-attention head 1·0, car falls/);
  assert.match(said(translator, { ...FFN, stack: "encoder" }), /^Without the encoder’s FFN of layer 1, car falls/);
});

test("a question is measured once, and not once its drawer is closed", async () => {
  /** @type {any[]} */
  const asked = [];
  const events = [
    ["start", START],
    ["ablation", head(0, 0, -1, 1)],
    ["ablation", FFN],
    ["done", {}],
  ]; // prettier-ignore
  globalThis.fetch = /** @type {any} */ (
    async (/** @type {string} */ path, /** @type {any} */ { body }) => {
      asked.push([path, JSON.parse(body)]);
      return new Response(events.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join(""));
    }
  );
  let [open, heard] = [true, () => {}];
  const ranking = createRanking(
    () => heard(),
    () => open,
  );
  const measured = ranking.of({ text: "a" });
  await new Promise((resolve) => {
    heard = () => measured.done && resolve(undefined);
  });
  assert.equal(ranking.of({ text: "a" }), measured);
  assert.deepEqual(asked, [["/api/explain/ablations", { text: "a" }]]);
  assert.deepEqual([measured.found.length, measured.start?.p, measured.error], [2, 0.9, null]);
  const { setTimeout: later } = globalThis;
  globalThis.setTimeout = /** @type {any} */ ((/** @type {() => void} */ run) => run());
  open = false;
  ranking.of({ text: "b" });
  globalThis.setTimeout = later;
  assert.equal(asked.length, 1);
});
