/** Heads ranked by what switching each off changes: their order, their maps, and what is said of them. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { measuredRequest } from "../../static/data/explain.js";
import { measureAblations } from "../../static/data/streams.js";
import { effectMaps, headEffects, keepingRows, mostNeeded, ranked } from "../../static/model/ablations.js";
import { otherRepeat, otherSentence } from "../../static/model/by_hand.js";
import { DEFAULTS } from "../../static/state/store.js";
import { t } from "../../static/ui/i18n.js";
import { byPosition, mapOf, strongestIn } from "../../static/views/rank/direct.js";
import {
  answersUnderEdits,
  createRanking,
  effectWords,
  figureAbout,
  measureUnit,
  strongestFfn,
} from "../../static/views/rank/effects.js";
import { keysFound, saidOf } from "../../static/views/rank/keys.js";
import { mostAfter, tonesOf } from "../../static/views/rank/map.js";
import {
  favoured,
  inLogits,
  mapOfPatches,
  movedText,
  patchKinds,
  preferSame,
  refusedWords,
} from "../../static/views/rank/patch.js";
import { pathsOf, receiverName, shownOf, strongestPaths } from "../../static/views/rank/paths.js";
import { testWith } from "./words.js";

/**
 * @import { AblationStart, KeyEffect } from "../../static/data/streams.js"
 * @import { Part } from "../../static/model/ablations.js"
 */

const read = (/** @type {string} */ file) =>
  JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));
const test = testWith(read("static/i18n/en.json"));
Object.assign(globalThis, { document: { documentElement: { lang: "en", dataset: {} } } });
const { decoder, translator } = read("tests/js/descriptions.json");

/** @param {number} layer @param {number} head @param {number} delta @param {number} kl @param {string} [attention] @returns {Part & {kind: "head"}} */
const head = (layer, head, delta, kl, attention = "self") => ({
  ...{ kind: "head", attention, layer, head, p: 0.9 * Math.exp(delta), delta, kl },
});
/** @type {Part} */
const FFN = { kind: "ffn", stack: "main", layer: 1, p: 0.1, delta: -9, kl: 7 };
const token = { id: 7, text: " car", bytes: "20636172", partial: false, special: false };
/** @type {AblationStart} */
const START = { answer: 7, row: 3, p: 0.9, parts: 6, tokens: { 7: token }, classes: [] };
const said = (/** @type {any} */ model, /** @type {Part} */ one) => effectWords(model, one, START);

test("a head's bar is full at the largest effect, unless all effects are small", () => {
  const found = (/** @type {number[]} */ ...deltas) =>
    /** @type {any[]} */ (
      deltas.map((delta, head) => ({ kind: "head", stack: "decoder", attention: "self", layer: 0, head, delta }))
    );
  const shares = (/** @type {number[]} */ ...deltas) =>
    [...headEffects(found(...deltas)).values()].map(({ share }) => share);
  assert.deepEqual(shares(-0.5, 0.25, 0), [1, 0.5, 0]);
  assert.deepEqual(shares(-0.001, 0.0002), [0.05, 0.01]);
});

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

test("a ranking ends with the heads that are off, in as many rows as without them", () => {
  const of = (/** @type {number[]} */ ...heads) => heads.map((one) => head(0, one, 0, 0));
  const named = (/** @type {number[]} */ needed, /** @type {number[]} */ off) =>
    ranked(of(...needed), of(...off), 4).map((one) => one.head);
  assert.deepEqual(named([1, 2, 3, 4, 5], []), [1, 2, 3, 4]);
  assert.deepEqual(named([1, 2, 3, 4, 5], [7]), [1, 2, 3, 7]);
  assert.deepEqual(named([1, 2, 3, 4, 5], [2]), [1, 3, 4, 2]); // once, wherever its loss would put it
  assert.deepEqual(named([1, 2, 3], [6, 7, 8]), [1, 2, 6, 7]); // two rows are left for heads that are on
});

test("a head that is off keeps its row, and the others are ranked around it", () => {
  const kept = (/** @type {string} */ rows, /** @type {string} */ best, /** @type {string} */ off) =>
    keepingRows([...rows], [...best], new Set(off)).join("");
  assert.equal(kept("", "abcde", ""), "abcde", "at first as they are ranked");
  assert.equal(kept("abcde", "fgbca", "a"), "afgbc", "what is needed now is there, and at the top");
  assert.equal(kept("afgbc", "hbcaf", "af"), "afhbc");
  assert.equal(kept("afgbc", "abcdf", "f"), "afbcd", "a head that is on again goes where it belongs");
  assert.equal(kept("abcde", "ghcde", "abcde"), "ghcde", "two rows are for heads that are on");
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
  assert.equal(said(decoder, head(1, 0, -1.1, 1)), "Without head 1·0, car falls from 90.0\u202f% to 30.0\u202f%");
  assert.equal(said(decoder, head(1, 0, 0.05, 1)), "Without head 1·0, car rises from 90.0\u202f% to 94.6\u202f%");
  assert.equal(said(decoder, head(1, 0, -1e-4, 1)), "Without head 1·0, car stays at 90.0\u202f%");
  assert.match(said(translator, head(1, 0, -1.1, 1, "cross")), /^Without cross-attention head 1·0, car falls/);
  assert.match(said(translator, { ...FFN, stack: "encoder" }), /^Without the encoder’s FFN of layer 1, car falls/);
});

/** @param {number} key @param {number|null} weight @param {number} delta @returns {KeyEffect} */
const keyed = (key, weight, delta) => ({
  ...{ kind: "edge", attention: "self", layer: 1, query: 3, key, head: 0, p: 0.9 * Math.exp(delta), delta },
  ...{ kl: Math.abs(delta), weight, length: weight ?? 1, logit: null },
});

test("what gets most attention is said beside what matters most", () => {
  const names = ["Tom₁", "car", "red"];
  const words = (/** @type {KeyEffect[]} */ found) =>
    saidOf(found)
      .map(({ key, of, vars }) => t(key, { ...vars, key: names[of], answer: "car" }))
      .join(" ");
  assert.equal(
    words([keyed(0, 0.44, 0.02), keyed(1, 0.22, -1.3), keyed(2, 0.1, 0)]),
    "Tom₁ gets 44\u202f% of the attention, but hiding it changes ln p of car by only +0.02. Hiding car (22\u202f%) changes it most: −1.30.",
  );
  assert.equal(
    words([keyed(0, 0.1, 0.02), keyed(1, 0.9, -1.3)]),
    "car gets 90\u202f% of the attention, and hiding it changes ln p of car by −1.30.",
  );
});

test("terms are mapped by layer and head, and by layer and key over all heads", () => {
  const term = { path: "", attention: "self", layer: 1, head: null, keys: null };
  const terms = [
    { ...term, part: "head", head: 1, value: 3, keys: [1, 2, 0] },
    { ...term, part: "head", head: 0, value: -1, keys: [0, -1, 0] },
    { ...term, part: "ffn", attention: null, value: 7 },
    { ...term, part: "ffn_bias", attention: null, value: 9 },
    { ...term, part: "embedding", attention: null, layer: null, value: 5 },
  ];
  const attention = /** @type {any} */ ({ id: "self", n_layer: 2, n_head: 2 });
  assert.deepEqual([...mapOf(terms, attention, true).values], [0, 0, 0, -1, 3, 7]);
  assert.deepEqual(mapOf(terms, attention, false).shape, [2, 2]);
  assert.deepEqual([...(byPosition(terms, attention, 3)?.values ?? [])], [0, 0, 0, 1, 1, 0]);
  assert.equal(byPosition([{ ...terms[0], keys: null }], attention, 3), null);
});

test("patches are mapped by layer and position; what is not measured yet is missing", () => {
  const kinds = patchKinds(decoder);
  assert.deepEqual(
    kinds.map(({ what }) => what),
    ["stream", "attention", "ffn"],
  );
  assert.deepEqual(
    patchKinds(translator).map(({ stack, what, attention }) => attention ?? `${stack} ${what}`),
    ["encoder stream", "encoder", "encoder ffn", "decoder stream", "decoder", "cross", "decoder ffn"],
  );
  const patched = { stack: kinds[0].stack, what: "stream", layer: 1, position: 2, p: 0, difference: 0, moved: 0.5 };
  const found = /** @type {any[]} */ ([patched, { ...patched, what: "ffn", moved: 9 }]);
  const { values, missing } = mapOfPatches(found, kinds[0], 3);
  assert.deepEqual([...values], [0, 0, 0, 0, 0, 0.5]);
  assert.deepEqual([...(missing ?? [])], [1, 1, 1, 1, 1, 0]);
});

test("of sentences less than a logit apart, effects are logits and not parts of the way", () => {
  assert.deepEqual(
    [-7.42, 4, 4.79, 5.92].map((there) => inLogits({ difference: 4.93, source_difference: there })),
    [false, true, true, true],
  );
  const one = /** @type {any} */ ({ moved: 4, difference: 4.37 });
  assert.equal(shownOf({ base: 4.93, logits: false }, one), 4);
  assert.ok(Math.abs(shownOf({ base: 4.93, logits: true }, one) + 0.56) < 1e-9);
});

test("a path ends at the answer, or at the q, k or v of the open head if it has one", () => {
  const [attention] = decoder.description.attentions;
  const trace = /** @type {any} */ ({ model: decoder, attention });
  const state = (/** @type {string} */ path, ffns = false) =>
    /** @type {any} */ ({ layer: 1, head: 0, viewState: { rank: { path, ffns } } });
  assert.equal(pathsOf(trace, state("rows")), null);
  assert.deepEqual(pathsOf(trace, state("answer", true)), { to: null, ffns: true });
  const to = { attention: attention.id, layer: 1, head: 0, role: "k" };
  assert.deepEqual(pathsOf(trace, state("k")), { to, ffns: false });
  assert.equal(receiverName(trace, state("k")), "k of head 1·0");
  assert.equal(receiverName(trace, state("answer")), "the answer");
  const without = { ...attention, roles: { ...attention.roles, k: { ...attention.roles.k, dims: "position d_head" } } };
  assert.equal(pathsOf({ ...trace, attention: without }, state("k")), null);
});

test("the writers that move most come first, either way; what moves less than a hundredth is not named", () => {
  const path = (/** @type {number} */ head, /** @type {number} */ moved) =>
    /** @type {any} */ ({ kind: "head", attention: "self", layer: 0, head, p: 0.5, difference: 0, moved });
  const found = [path(0, 0.2), path(1, -0.4), path(2, 0.009), path(3, 0.1)];
  assert.deepEqual(
    strongestPaths({ found, base: 0, logits: false }).map(({ moved }) => moved),
    [-0.4, 0.2, 0.1],
  );
  // Of sentences 0.15 logits apart, a hundredth of the way is a rounding: what is shown, logits, has the same threshold.
  const near = [...found, path(4, 0.05)].map((one) => ({ ...one, difference: 5 + 0.15 * one.moved }));
  assert.deepEqual(
    strongestPaths({ found: near, base: 5, logits: true }).map(({ moved }) => moved),
    [-0.4, 0.2, 0.1],
  );
});

test("the sentence that is offered has the next best answer in the place of the answer", () => {
  const side = { side: "source", tokens: [{}, {}], real: { start: 0, end: 2 } };
  const candidates = [{ text: " car" }, { text: " ball" }];
  const trace = /** @type {any} */ ({
    text: "a red car. a red",
    written: side,
    queries: side,
    keys: side,
    predictions: { 1: { candidates } },
    model: {},
  });
  const state = /** @type {any} */ ({ query: 1, key: 0 });
  assert.equal(otherSentence(trace, state)?.text, "a red ball. a red");
  assert.equal(otherSentence({ ...trace, text: "a red" }, state), null);
  const edited = { ...trace, predictions: { 1: { candidates: candidates.toReversed() } }, withoutKnockouts: trace };
  assert.equal(otherSentence(edited, state)?.text, "a red ball. a red"); // its answer is the one before the edits
  assert.equal(otherSentence({ ...trace, text: "a scar from a car." }, state)?.text, "a scar from a ball.");
  assert.equal(otherSentence({ ...trace, text: "scars" }, state), null);
  const japanese = { 1: { candidates: [{ text: "犬" }, { text: "猫" }] } };
  assert.equal(otherSentence({ ...trace, text: "子犬がいる", predictions: japanese }, state)?.text, "子猫がいる");
});

test("where the chosen token comes again, its nearest neighbour of the embedding stands in its first place alone", () => {
  const state = /** @type {any} */ ({ key: 0 });
  const near = { neighbours: { id: 5, ids: [9], tokens: { 5: { text: " red" }, 9: { text: " blue" } } } };
  /** @param {string[]} pieces  one a token @param {number} query @param {any} explained */
  const offered = (pieces, query, explained = near) => {
    const ends = pieces.map((_, i) => [...pieces.slice(0, i + 1).join("")].length);
    const tokens = pieces.map((text, i) => ({
      ...{ text, id: text === " red" ? 5 : 10 + i, bytes: "", partial: false, special: false },
      ...{ start: ends[i - 1] ?? 0, end: ends[i] },
    }));
    const side = { side: "source", tokens, real: { start: 0, end: tokens.length } };
    const trace = { text: pieces.join(""), written: side, queries: side, keys: side, model: {}, explained };
    return otherRepeat(/** @type {any} */ (trace), { ...state, query });
  };
  const thrice = ["The", " red", " car", " red", " ball", " red"];
  const text = "The blue car red ball red";
  assert.deepEqual(offered(thrice, 5), { here: "red₁", there: "blue", text });
  assert.equal(offered(thrice, 3)?.text, text, "the chosen one stays, and what comes after it");
  assert.equal(offered(thrice, 1), null, "it is the first one");
  assert.equal(offered(thrice, 5, {}), null, "its neighbours are not here yet");
  const begins = offered(["red", " car", " red", " 😀", " red"], 4);
  assert.deepEqual(
    begins,
    { here: "red₂", there: "blue", text: "red car blue 😀 red" },
    "the first word is another token",
  );
  assert.equal(offered(["😀", " red", "der", " red", " red"], 4)?.text, "😀 redder blue red", "a part of a word stays");
});

test("what is measured with edits is named, also a class, and an answer that is no longer among the first", () => {
  const side = { side: "source", tokens: [{}], real: { start: 0, end: 1 } };
  const token = (/** @type {number} */ id) => ({ id, text: ` ${id}`, bytes: "", partial: false, special: false });
  const first = (/** @type {number[]} */ ...ids) => ({ 0: { candidates: ids.map(token) } });
  const of = (/** @type {any} */ trace, /** @type {number|null} */ answer, /** @type {any} */ tokens = {}) => {
    const { was, measured, offered } = answersUnderEdits(
      /** @type {any} */ ({ written: side, queries: side, keys: side, predictions: {}, ...trace }),
      /** @type {any} */ ({ query: 0, key: 0, answer }),
      tokens,
    );
    return [was, measured, offered.map(({ name }) => name)];
  };
  const edited = { withoutKnockouts: { predictions: first(7, 8, 5) }, predictions: first(8, 7) };
  assert.deepEqual(of(edited, null), [7, 7, ["7", "8"]]);
  assert.deepEqual(of(edited, 5), [7, 5, ["7", "8", "5"]]);
  assert.deepEqual(of(edited, 9), [7, null, ["7", "8"]], "its name is not here yet");
  assert.deepEqual(of(edited, 9, { 9: token(9) }), [7, 9, ["7", "8", "9"]]);
  assert.deepEqual(of({ predictions: first(8) }, null), [null, null, []], "what was first before is not known");

  const classes = [0.7, 0.3].map((probability, i) => ({ name: `class ${i}`, probability }));
  const classed = { written: null, classes, withoutKnockouts: { predictions: {}, classes: classes.toReversed() } };
  assert.deepEqual(of(classed, null), [1, 1, ["class 1"]]);
  assert.deepEqual(of(classed, 0), [1, 0, ["class 0"]]);
  assert.deepEqual(of({ ...classed, withoutKnockouts: null }, null), [null, null, []]);
});

test("keys that the row cannot attend to are left out", () => {
  const future = { ...keyed(2, 0, 0), kl: 0, length: 0 };
  const found = [keyed(0, 0.4, 0), future, FFN];
  assert.deepEqual(
    keysFound({ key: "", start: START, found, done: true, error: null }).map(({ key }) => key),
    [0],
  );
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
    measureAblations,
  );
  const measured = ranking.of({ text: "a" });
  await new Promise((resolve) => {
    heard = () => measured.done && resolve(undefined);
  });
  assert.equal(ranking.of({ text: "a" }), measured);
  assert.deepEqual(asked, [["api/explain/ablations", { text: "a" }]]);
  assert.deepEqual([measured.found.length, measured.start?.p, measured.error], [2, 0.9, null]);
  const { setTimeout: later } = globalThis;
  globalThis.setTimeout = /** @type {any} */ ((/** @type {() => void} */ run) => run());
  open = false;
  ranking.of({ text: "b" });
  globalThis.setTimeout = later;
  assert.equal(asked.length, 1);
});

test("the head with the largest term is chosen first, although an FFN writes more", () => {
  const terms = Float32Array.from([0.1, -2, 9, 0.3, 1, -8]);
  assert.equal(strongestIn(terms, [2, 3], 2), 1);
  assert.equal(strongestIn(terms, [2, 3]), 2);
});

test("whether two sentences favour the same answer is seen in the signs of their logit differences", () => {
  assert.ok(preferSame({ difference: 3.17, source_difference: 2.92 }));
  assert.ok(!preferSame({ difference: 4.93, source_difference: -7.42 }));
  const token = (/** @type {string} */ text) => ({ text, bytes: "", partial: false, special: false });
  const start = { answer: 7, against: 8, classes: [], tokens: { 7: token(" car"), 8: token(" ball") } };
  const favouredBy = (/** @type {number} */ difference) =>
    favoured(/** @type {any} */ ({ ...start, difference, source_difference: difference }));
  assert.deepEqual([favouredBy(3.17), favouredBy(-2)], ["car", "ball"]);
});

test("FFNs have colours of their own: their strongest has the strongest, and heads keep their scale", () => {
  const [values, scale] = [Float32Array.from([-0.05, 0.01, -8, 0.02, 0.09, -2]), { min: -0.05, max: 0.05 }];
  const tones = [...tonesOf(values, 3, 2, /** @type {any} */ (scale), -8)].map((tone) => Number(tone.toFixed(4)));
  assert.deepEqual(tones, [-0.05, 0.01, -0.05, 0.02, 0.05, -0.0125]);
  assert.equal(mostAfter(values, 3, 2), -8);
  assert.equal(mostAfter(values, 3, 3), 0);
  const weaker = Float32Array.from([0.01, -2]); // of another stack, whose strongest is the weaker one
  assert.equal(tonesOf(weaker, 2, 1, /** @type {any} */ (scale), -8)[1].toFixed(4), "-0.0125");
  assert.deepEqual([...tonesOf(Float32Array.from([1, 0]), 2, 1, /** @type {any} */ ({ min: -1, max: 1 }), 0)], [1, 0]);
});

test("the FFN that does most is named, whichever its sign; heads are not it", () => {
  const found = [head(0, 0, -99, 99), { ...FFN, layer: 0, delta: 10 }, FFN];
  assert.equal(strongestFfn(found, "delta")?.layer, 0);
  assert.equal(strongestFfn(found, "kl")?.layer, 0);
  assert.equal(strongestFfn([head(0, 0, -9, 9)], "delta"), null);
});

test("a second sentence that cannot be compared is refused in the page's language", () => {
  const refused = { code: "bad_source", where: "from", message: "The other run …" };
  assert.match(refusedWords({ ...refused, got: 6, limit: 14 }), /has 6 tokens, this one 14/);
  assert.match(refusedWords({ ...refused, got: null }), /less than 0\.1 apart/);
  assert.equal(refusedWords({ ...refused, where: "from.model" }), "The other run …");
});

test("a change of ln p is written as the points that the answer gains or loses, unless it is rare", () => {
  const written = (/** @type {"delta"|"kl"} */ by, /** @type {number} */ p, /** @type {number} */ value) => {
    const { of, write } = measureUnit(by, { p });
    return write(of(value));
  };
  assert.deepEqual(
    [Math.log(0.5), Math.log(1.1), 0].map((value) => written("delta", 0.8, value)),
    ["−40.0", "+8.0", "0.0"],
  );
  assert.equal(written("delta", 0.001, -0.5), "−0.50");
  assert.equal(written("kl", 0.8, 0.25), "0.25");
});

test("a saved ablation's caption names the unit of its cells", () => {
  const about = (/** @type {"delta"|"kl"} */ by, /** @type {number} */ p) =>
    figureAbout(by, { ...START, p }, /** @type {any} */ ({ written: null }), false);
  assert.match(about("delta", 0.8), /Shown: p\(car\) without it − with it, in percentage points/);
  assert.match(about("delta", 0.001), /Shown: ln p\(car\) without it − with it, in nats/);
  assert.match(about("kl", 0.8), /in nats/);
});

test("what is measured under edits is the answer as trained, until the reader chooses another", () => {
  const side = { side: "source", tokens: [{}, {}], real: { start: 0, end: 2 } };
  const answers = (/** @type {number} */ id) => ({
    predictions: { 1: { candidates: [{ id }, { id: 9 }] } },
    classes: null,
  });
  const classes = [{ probability: 0.2 }, { probability: 0.7 }, { probability: 0.1 }];
  const none = { written: side, queries: side, keys: side, model: decoder, asTrained: null, withoutKnockouts: null };
  const answer = (/** @type {object} */ more, /** @type {number|null} */ chosen = null) =>
    measuredRequest({ ...DEFAULTS, query: 1, key: 0, answer: chosen }, /** @type {any} */ ({ ...none, ...more }))
      ?.answer;
  assert.equal(answer({}), null, "without edits, it is the model's own");
  assert.equal(answer({ withoutKnockouts: answers(7) }), 7);
  assert.equal(answer({ asTrained: answers(5), withoutKnockouts: answers(7) }), 5);
  assert.equal(answer({ asTrained: answers(5) }, 3), 3);
  assert.equal(answer({ written: null, asTrained: { predictions: {}, classes } }), 1);
});

test("a patch that moves nothing has no number, and in a narrow cell a number is short", () => {
  const texts = (/** @type {number} */ w) => [0, 0.04, 0.58, -0.17, 1].map((value) => movedText(value, w));
  assert.deepEqual(texts(20), ["", "", "", "", ""]);
  assert.deepEqual(texts(30), ["", "", ".6", "−.2", "1.0"]);
  assert.deepEqual(texts(60), ["", "", "0.58", "−0.17", "1.00"]);
});
