/** What a step costs with a KV cache and without it, counted from shapes, against what torch counted while it ran. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  beyondWindow,
  cachedAttention,
  costOfSteps,
  crossAttention,
  keyBytes,
  recurrentAttention,
  stateBytes,
  stepCost,
  sumOfSteps,
} from "../../static/model/kv_cache.js";
import { createCacheMeasuring } from "../../static/views/generation/cache_costs.js";
import { carriedBy, mostChanged } from "../../static/views/generation/state_picture.js";

const read = (/** @type {string} */ name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf-8"));
const MODELS = read("descriptions.json");
const MECHANISMS = read("mechanisms.json");
const COUNTED = read("step_costs.json");

/** The model with another vocabulary. @param {any} model @param {number} vocab_size */
const over = (model, vocab_size) => ({ ...model, description: { ...model.description, vocab_size } });

for (const name of ["decoder", "translator", "rotary"])
  test(`${name}: multiply-adds and bytes are those that torch counts (tests/model/test_step_costs.py)`, () => {
    for (const { vocab_size, weights, attention, bytes, ...at } of COUNTED[name]) {
      const model = over(MODELS[name] ?? MECHANISMS[name], vocab_size);
      assert.deepEqual(stepCost(model, at), { weights, attention }, JSON.stringify(at));
      const ids = name === "rotary" ? 8 * at.tokens : 0; // what is rotated is kept as it was, with its position
      assert.equal(at.cached ? keyBytes(model, at) + ids : 0, bytes, JSON.stringify(at));
    }
  });

test("a cached step grows as c + aT, one without as cT + aT²", () => {
  const cost = (/** @type {number} */ tokens, /** @type {boolean} */ cached) => {
    const found = stepCost(MODELS.decoder, { tokens, source: 0, cached });
    return found ?? assert.fail("not counted");
  };
  const [one, ten] = [cost(1, true), cost(10, true)];
  assert.equal(one.weights, ten.weights);
  assert.equal(10 * one.attention, ten.attention);
  const all = cost(10, false);
  assert.deepEqual([all.weights, all.attention], [10 * one.weights, 100 * one.attention]);
});

test("over steps, what is multiplied without a cache is divided by what is multiplied with it", () => {
  const { weights, attention } =
    stepCost(MODELS.decoder, { tokens: 1, source: 0, cached: true }) ?? assert.fail("not counted");
  // Step T: c + aT with a cache, T times that without; of steps 3, 4 and 5: ΣT = 12, ΣT² = 50, of 3 steps.
  const expected = (12 * weights + 50 * attention) / (3 * weights + 12 * attention);
  assert.equal(costOfSteps(MODELS.decoder, { first: 3, last: 5, source: 0 })?.times, expected);
  assert.equal(
    costOfSteps(MODELS.decoder, { first: 7, last: 7, source: 0 })?.times,
    7,
    "one step reads all seven again",
  );
  assert.equal(costOfSteps(MODELS.decoder, { first: 3, last: 2, source: 0 }), null, "nothing is written");
  assert.equal(costOfSteps(MECHANISMS.wkv, { first: 3, last: 5, source: 0 }), null, "not counted");
});

test("of steps of which one read everything again, the sum is what each did", () => {
  const steps = { first: 3, last: 6, source: 0 };
  const one = (/** @type {number} */ tokens, /** @type {boolean} */ cached) =>
    costOfSteps(MODELS.decoder, { first: tokens, last: tokens, source: 0 })?.[cached ? "less" : "more"] ?? 0;
  const expected = one(3, true) + one(4, true) + one(5, false) + one(6, true);
  assert.equal(
    sumOfSteps(MODELS.decoder, steps, (tokens) => tokens !== 5),
    expected,
  );
});

test("only attention that is made of these products is counted", () => {
  for (const name of ["relative", "aft-full", "wkv"])
    assert.equal(stepCost(MECHANISMS[name], { tokens: 5, source: 0, cached: true }), null, name);
});

test("keys of a group count once", () => {
  const [self] = MODELS.decoder.description.attentions;
  const description = { ...MODELS.decoder.description, attentions: [{ ...self, n_kv_head: 1 }] };
  const [grouped, plain] = [{ ...MODELS.decoder, description }, MODELS.decoder].map((model) =>
    keyBytes(model, { tokens: 7, source: 0 }),
  );
  assert.equal(2 * grouped, plain);
});

test("a translator keeps keys of its own side and of the source, a recurrent mechanism none", () => {
  assert.equal(cachedAttention(MODELS.translator)?.id, "decoder");
  assert.equal(crossAttention(MODELS.translator)?.id, "cross");
  assert.equal(crossAttention(MODELS.decoder), null);
  assert.equal(cachedAttention(MECHANISMS.wkv), null);
});

test("mechanisms whose sums are all they keep carry a state, of one size for any text", () => {
  const carries = Object.keys(MECHANISMS).filter((name) => recurrentAttention(MECHANISMS[name]));
  assert.deepEqual(carries, ["aft-simple", "wkv"]);
  assert.equal(recurrentAttention(MODELS.decoder), null);
  const [bytes, one] = [stateBytes(/** @type {any} */ (recurrentAttention(MECHANISMS.wkv))), { tokens: 1, source: 0 }];
  assert.equal(bytes, keyBytes(MECHANISMS.wkv, one)); // two numbers of each feature, as one token's key and value
  assert.equal(keyBytes(MECHANISMS.wkv, { ...one, tokens: 50 }), 50 * bytes);
});

test("the state is read after the newest real token, and compared with the one before", () => {
  const attention = /** @type {any} */ (recurrentAttention(MECHANISMS.wkv)); // 2 groups of 4
  const n = 3;
  const tensorOf = (/** @type {number} */ sign) => ({
    shape: [2, n, 4],
    data: Float32Array.from({ length: 2 * n * 4 }, (_, i) => sign * i * i),
  });
  const tensor = (/** @type {string} */ name) => tensorOf(name.endsWith("mean") ? 1 : -1);
  const sides = (/** @type {number} */ start, /** @type {number} */ end) => ({
    source: { side: "source", tokens: [1, 2, 3], real: { start, end } },
    target: null,
  });
  const of = (/** @type {number} */ start, /** @type {number} */ end) =>
    carriedBy(/** @type {any} */ ({ tensor, sides: sides(start, end) }), attention, 0) ?? assert.fail("no tensors");
  const squares = (/** @type {number[]} */ ...all) => all.map((one) => one ** 2);
  const { mean, meanBefore, logSum, change } = of(0, 3);
  assert.deepEqual([...mean], squares(8, 9, 10, 11, 20, 21, 22, 23));
  assert.deepEqual([...(meanBefore ?? [])], squares(4, 5, 6, 7, 16, 17, 18, 19));
  assert.deepEqual(
    [...logSum],
    [...mean].map((one) => -one),
  );
  assert.deepEqual(
    [...change],
    [...mean].map((one, i) => one - (meanBefore ?? [])[i]),
  );
  assert.equal(mostChanged(change), 7);
  assert.equal(mostChanged(Float32Array.of(1, -3, 2)), 1, "downwards, too");
  assert.deepEqual([...of(0, 2).mean], [...(meanBefore ?? [])]); // the last is a PAD
  assert.equal(of(1, 2).meanBefore, null);
  assert.deepEqual([...of(1, 2).change], [...of(1, 2).mean]);
});

test("keys beyond the window of the newest query are those that its mask says", () => {
  const [attention] = MODELS.decoder.description.attentions;
  const sides = { source: { side: "source", tokens: [0, 1, 2, 3] }, target: null };
  const mask = () => Uint8Array.from([0, 1, 1, 1, 0, 0, 1, 1, 4, 0, 0, 1, 4, 4, 0, 0]);
  const trace = /** @type {any} */ ({ pool: 1, sides, mask });
  assert.deepEqual(beyondWindow(trace, attention, 0), [true, true, false, false]);
  assert.deepEqual(beyondWindow({ ...trace, pool: 2 }, attention, 0), []);
});

test("a measurement ends when another text is shown, or none", async () => {
  const READING = { n: 1, computed: [1, 1], bytes: [0, 0], milliseconds: [1, 1], difference: 0 };
  let isShown = true;
  const closed = /** @type {string[]} */ ([]);
  const pulls = /** @type {(() => void)[]} */ ([]);
  globalThis.fetch = async (_, options) => {
    const { body, signal } = /** @type {any} */ (options);
    const said = new TextEncoder().encode(`event: reading\ndata: ${JSON.stringify(READING)}\n\n`);
    const start = (/** @type {any} */ controller) => {
      signal.addEventListener("abort", () => closed.push(body) && controller.error(signal.reason));
      pulls.push(() => signal.aborted || controller.enqueue(said));
    };
    return new Response(new ReadableStream({ start }));
  };
  const arrived = async () => {
    pulls.at(-1)?.();
    for (let turn = 0; turn < 20; turn++) await new Promise((done) => setTimeout(done));
  };
  const measuring = createCacheMeasuring(
    () => {},
    () => isShown,
  );
  const [one, other] = [{ token_ids: [1] }, { token_ids: [2] }];
  measuring.begin(one);
  await arrived();
  assert.deepEqual([measuring.of(one).readings.length, measuring.of(one).running, closed.length], [1, true, 0]);
  assert.equal(measuring.of(other).readings.length, 0);
  await arrived();
  assert.deepEqual([measuring.of(one).running, measuring.of(one).error, closed], [false, null, [JSON.stringify(one)]]);
  measuring.begin(other);
  await arrived();
  isShown = false;
  await arrived();
  assert.deepEqual([measuring.of(other).running, closed.length], [false, 2]);
});
