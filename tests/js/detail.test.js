/** One request for a change: what comes beside the pictures of all heads, and what is made of the answer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { detailRequest, partsFor, splitAnswer } from "../../static/data/request.js";
import { createTraces } from "../../static/data/traces.js";
import { DEFAULTS } from "../../static/state/store.js";

const dims = "head query key";
const roles = {
  q: { taps: ["0.q", "1.q"], dims: "head position d_head" },
  mask: { taps: ["0.mask", "1.mask"], dims },
  pattern: { taps: ["0.pattern", "1.pattern"], dims },
};
const ATTENTION = { id: "self", n_layer: 2, n_head: 2, n_kv_head: 2, overview: "pattern", roles };
const MODEL = { name: "m", max_seq_len: 900, description: { writes: "source", attentions: [ATTENTION] } };
const TRANSLATOR = { ...MODEL, description: { ...MODEL.description, writes: "target" } };
const STATE = { ...DEFAULTS, model: "m", text: "one two", layer: 1, head: 1 };
const OPEN = { want: ["1.q", "1.mask", "1.pattern"], heads: [1] };

/** @param {number[]} shape */
const tensor = (shape) => ({
  shape,
  dims: [],
  data: new Float32Array(
    new ArrayBuffer(400),
    0,
    shape.reduce((a, b) => a * b),
  ),
});
const answer = () => ({
  meta: { masks: { causal: true }, predictions: [{ position: 1 }], detail: { heads: [1] }, heads: null },
  tensors: {
    "0.pattern": tensor([2, 2, 2]),
    "1.pattern": tensor([2, 2, 2]),
    "0.mask": tensor([1, 2, 2]),
    "detail/1.q": tensor([1, 2, 3]),
    "detail/1.mask": tensor([1, 2, 2]),
    "detail/1.pattern": tensor([1, 2, 2]),
  },
});

/** A server that says this to everything. @param {any} said @param {any} [model] */
function server(said, model = MODEL) {
  /** @type {any[]} */ const asked = [];
  const trace = async (/** @type {any} */ request) => {
    asked.push(request);
    return said;
  };
  return { asked, traces: createTraces(/** @type {any} */ ({ trace }), { modelNamed: () => model }) };
}

test("the open head comes with the pictures where it is needed", () => {
  assert.deepEqual(partsFor(STATE, MODEL, true).detail, OPEN);
  assert.equal(partsFor(STATE, MODEL, false).detail, undefined);
  assert.deepEqual(
    partsFor(STATE, TRANSLATOR, true),
    { detail: OPEN },
    "its next word is asked for when its target is known",
  );
});

test("that of a long text comes by itself: the pictures do not wait for it", () => {
  const has = (/** @type {any} */ patch) => "detail" in partsFor({ ...STATE, ...patch }, MODEL, true);
  assert.equal(has({ text: "a".repeat(400) }), true);
  assert.equal(has({ text: "a".repeat(401) }), false);
  assert.equal(has({ text: "a".repeat(401), ids: [1, 2, 3] }), true, "ids are counted, not the text that they spell");
  assert.equal(has({ ids: Array(401).fill(7) }), false);
  assert.equal(has({ padCount: 399 }), false);
  assert.equal(has({ text: "", pixels: [[0]] }), false, "a picture is as long as the window");
});

test("an answer is split: the pictures have their own tensors only, and the open head its own memory", () => {
  const { overview, detail, predictions } = splitAnswer(answer());
  assert.deepEqual(Object.keys(overview.tensors), ["0.pattern", "1.pattern", "0.mask"]);
  assert.deepEqual(Object.keys(detail?.tensors ?? {}), OPEN.want);
  assert.deepEqual(detail?.meta.heads, [1]);
  assert.equal(detail?.tensors["1.q"].data.buffer.byteLength, 24, "not the whole answer's");
  assert.equal(predictions.length, 1);
});

test("an answer without a detail is the overview as it is", () => {
  const { detail: _, ...meta } = answer().meta;
  const plain = { meta, tensors: { "0.pattern": tensor([2, 2, 2]) } };
  assert.equal(splitAnswer(plain).overview, plain);
  assert.equal(splitAnswer(plain).detail, null);
});

test("one request brings the pictures, the next token and the open head", async () => {
  const { asked, traces } = server(answer());
  await traces.overview(STATE, true);
  assert.deepEqual(asked[0].detail, OPEN);
  const [detail, next] = await Promise.all([traces.detail(STATE), traces.prediction(STATE, 1)]);
  assert.deepEqual([detail.layer, detail.head, detail.q.shape], [1, 1, [2, 3]]);
  assert.equal(next.position, 1);
  assert.equal(asked.length, 1);
  await traces.detail({ ...STATE, head: 0 }).catch(() => {});
  assert.deepEqual(asked[1].heads, [0], "another head is asked for by itself");
});

test("the open head follows a new text's pictures by a frame; of another run of the text, it is drawn with them", async () => {
  const { traces } = server(answer());
  /** @param {Partial<typeof STATE>} change */
  const isHere = async (change) => {
    const detail = traces.detail({ ...STATE, ...change });
    return (await Promise.race([detail, new Promise((next) => setTimeout(next, 1, "not yet"))])) !== "not yet";
  };
  await traces.overview(STATE, true);
  assert.equal(await isHere({}), false);
  await traces.detail(STATE);
  assert.equal(await isHere({}), true, "both are known");
  await traces.overview({ ...STATE, causal: false }, true);
  assert.equal(await isHere({ causal: false }), true, "other masks");
});

test("a translator's open head is that of the target which the model wrote", async () => {
  const written = { ...answer(), meta: { ...answer().meta, predictions: [], target_tokens: [{ id: 5 }, { id: 9 }] } };
  const { asked, traces } = server(written, TRANSLATOR);
  await traces.overview(STATE, true);
  await traces.detail({ ...STATE, target: null, targetIds: [5, 9] });
  assert.equal(asked.length, 1);
});

test("who does not send it is asked for it: a saved file", async () => {
  const { detail: _, ...meta } = answer().meta;
  const tensors = Object.fromEntries(OPEN.want.map((name) => [name, tensor([2, 2, 2])]));
  const { asked, traces } = server({ meta, tensors });
  await traces.overview(STATE, true);
  await traces.detail(STATE);
  assert.deepEqual(asked[1], detailRequest(STATE, MODEL));
});
