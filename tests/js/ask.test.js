/** At most one question of a kind is under way, the newest waits for it, and nothing is asked twice. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createAsker, retrying } from "../../static/data/ask.js";
import { createTypist } from "../../static/data/loader.js";
import { createTraces } from "../../static/data/traces.js";
import { columnsOf } from "../../static/model/taps.js";
import { DEFAULTS } from "../../static/state/store.js";

const whole = (answer) => answer;
const isAborted = { name: "AbortError" };

/** A server that answers on request of the test. */
function slowServer() {
  const sent = [];
  /** @type {any} */
  const send = (request, { signal }) =>
    new Promise((resolve, reject) => {
      sent.push({ request, signal, answer: () => resolve(request) });
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  return { sent, send };
}

test("while one is under way, the newest waits, and those between are never sent", async () => {
  const { sent, send } = slowServer();
  const { ask } = createAsker({ picture: 8 }, send);
  const answers = ["a", "ab", "abc", "abcd"].map((text) => ask("picture", { text }, whole));
  const between = answers.slice(1, 3).map((answer) => assert.rejects(answer, isAborted));
  assert.deepEqual(
    sent.map(({ request }) => request.text),
    ["a"],
  );
  sent[0].answer();
  assert.deepEqual(await answers[0], { text: "a" });
  await Promise.all(between);
  while (sent.length < 2) await new Promise((next) => setTimeout(next));
  sent[1].answer();
  assert.deepEqual(await answers[3], { text: "abcd" });
  assert.equal(sent.length, 2);
  assert.equal(sent[0].signal.aborted, false);
  assert.equal(ask("picture", { text: "a" }, whole), answers[0]);
});

test("one that takes long is cancelled for the newest", async () => {
  const { sent, send } = slowServer();
  const { ask } = createAsker({ picture: 8 }, send);
  const slow = assert.rejects(ask("picture", { text: "slow" }, whole), isAborted);
  const fast = ask("picture", { text: "fast" }, whole);
  await slow;
  assert.equal(sent[0].signal.aborted, true);
  while (sent.length < 2) await new Promise((next) => setTimeout(next));
  sent[1].answer();
  assert.deepEqual(await fast, { text: "fast" });
});

test("when another text is shown, what takes long is cancelled, and what was asked just now is not", async () => {
  const { sent, send } = slowServer();
  const { ask, abandon } = createAsker({ route: 8 }, send);
  const slow = ask("route", { text: "slow" }, whole);
  abandon();
  assert.equal(sent[0].signal.aborted, false);
  const cancelled = assert.rejects(slow, isAborted);
  abandon(performance.now() + 500);
  await cancelled;
  assert.equal(sent[0].signal.aborted, true);
});

test("other kinds do not wait", () => {
  const { sent, send } = slowServer();
  const { ask } = createAsker({ picture: 8, detail: 8 }, send);
  ask("picture", { text: "a" }, whole);
  ask("detail", { text: "a" }, whole);
  assert.equal(sent.length, 2);
});

test("those who were refused together come back at different times, and hear how many are ahead", async () => {
  const waits = [];
  for (const random of [0, 1]) {
    let tries = 0;
    const run = async () => {
      if (tries++) return "here";
      throw Object.assign(new Error("full"), { code: "full", status: 503, retryAfter: 0.002, got: 7 });
    };
    const onWait = (waiting) => waiting?.seconds && waits.push(waiting);
    assert.equal(await retrying(run, { onWait, random: () => random }), "here");
  }
  assert.deepEqual(waits, [
    { code: "full", seconds: 0.002, ahead: 7 },
    { code: "full", seconds: 0.003, ahead: 7 },
  ]);
});

test("someone types who changes the text soon after changing it", () => {
  let now = 0;
  const typing = createTypist(() => now);
  const at = (time, text, ids = /** @type {number[]|null} */ (null)) => {
    now = time;
    return typing(/** @type {any} */ ({ text, ids }));
  };
  assert.equal(at(0, "O"), false);
  assert.equal(at(120, "On"), true);
  assert.equal(at(130, "On"), false, "a click");
  assert.equal(at(240, "On", [1]), false, "a token was drawn");
  assert.equal(at(300, "Onc"), true);
  assert.equal(at(2000, "Once"), false);
});

const MODEL = {
  name: "m",
  description: {
    writes: "source",
    attentions: [{ id: "self", n_layer: 1, overview: "pattern", roles: { pattern: { taps: ["p"] } } }],
  },
};

test("what comes after the text comes with its picture", async () => {
  const asked = [];
  const said = { position: 2, candidates: [] };
  const api = {
    trace: async (request) => {
      asked.push(request);
      return { meta: { predictions: [said] }, tensors: {} };
    },
  };
  const traces = createTraces(/** @type {any} */ (api), { modelNamed: () => MODEL });
  const state = { ...DEFAULTS, model: "m", text: "one two three" };
  await traces.overview(state);
  assert.equal(await traces.prediction(state, 2), said);
  assert.equal(asked.length, 1);
  assert.equal(asked[0].predict.positions, null);
  await traces.prediction({ ...state, temperature: 2 }, 2);
  assert.equal(asked.length, 2, "under other settings it is asked for");
  await traces.overview({ ...state, query: 0, text: "other" });
  assert.equal(asked[2].predict, undefined, "another row is shown, and whether the text has it is not known");
  await traces.overview({ ...state, query: 1, ids: [4, 5, 6] });
  assert.deepEqual(asked[3].predict.positions, [1]);
});

test("of W_O only the open head's columns are asked for, once", async () => {
  /** @type {any[]} */
  const asked = [];
  const api = {
    weights: async (/** @type {any} */ request) => {
      asked.push(request);
      const { want, columns } = request;
      return { tensors: Object.fromEntries(want.map((/** @type {string} */ one) => [one, columns ?? "whole"])) };
    },
  };
  const traces = createTraces(/** @type {any} */ (api), { modelNamed: () => MODEL });
  const state = { ...DEFAULTS, model: "m" };
  const [first, second] = [columnsOf("w_o", 0, 2), columnsOf("w_o", 2, 4)];
  const both = await traces.parameters(state, ["gain", first]);
  assert.deepEqual([both.get("gain"), both.get(first)], ["whole", [0, 1]]);
  const bag = await traces.parameters(state, ["gain", first, second]);
  assert.deepEqual(bag.get(first), [0, 1]);
  assert.deepEqual(bag.get(second), [2, 3]);
  assert.deepEqual(asked, [
    { model: "m", want: ["w_o"], columns: [0, 1] },
    { model: "m", want: ["gain"] },
    { model: "m", want: ["w_o"], columns: [2, 3] },
  ]);
});
