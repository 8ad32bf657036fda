/** Masks of layers that differ, and the single run that a padded one should equal. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { modelTrace } from "../../static/data/model_trace.js";
import { comparedRuns } from "../../static/data/needs.js";
import { createTraces } from "../../static/data/traces.js";
import { DEFAULTS } from "../../static/state/store.js";

const { decoder, encoder, translator } = JSON.parse(
  readFileSync(new URL("descriptions.json", import.meta.url), "utf8"),
);
/** @param {object} where */
const edit = (where) => ({ kind: "mask", where: { role: "mask", query: 1, key: 0, ...where }, allow: false });

/** The tensors that the overview of a run wants. @param {any} model @param {object[]} interventions */
async function wanted(model, interventions) {
  /** @type {string[]} */
  let want = [];
  const trace = async (/** @type {any} */ request) => {
    want = request.want;
    return { meta: {}, tensors: {} };
  };
  const traces = createTraces(/** @type {any} */ ({ trace }), { modelNamed: () => model });
  await traces.overview({ ...DEFAULTS, text: "Hi", interventions });
  return want.filter((name) => name.endsWith("mask"));
}

/** The names of the masks of an attention. @param {any} model @param {string} id @returns {string[]} */
const masksOf = (model, id) =>
  model.description.attentions.find((/** @type {any} */ one) => one.id === id).roles.mask.taps;

test("one mask is requested for all layers, unless one of them is edited", async () => {
  const masks = masksOf(decoder, "self");
  assert.deepEqual(await wanted(decoder, []), [masks[0]]);
  assert.deepEqual(await wanted(decoder, [edit({ layer: 1 })]), masks);
  assert.deepEqual(await wanted(decoder, [{ kind: "ablate", where: { layer: 1, role: "z", head: 0 } }]), [masks[0]]);
});

test("only the attention that an edit names has a mask per layer", async () => {
  const [source, target, cross] = ["encoder", "decoder", "cross"].map((id) => masksOf(translator, id));
  assert.deepEqual(await wanted(translator, [edit({ attention: "cross", layer: 0 })]), [
    source[0],
    target[0],
    ...cross,
  ]);
  assert.deepEqual(await wanted(translator, [edit({ layer: 0 })]), [...source, target[0], cross[0]]);
});

test("each layer shows its own mask", () => {
  const token = (/** @type {number} */ index) => ({ index, id: index, text: "x", bytes: "78" });
  const meta = { tokens: [token(0), token(1)], text: "xx", n_characters: 2, masks: { causal: true }, seconds: 0 };
  const tensors = Object.fromEntries(
    masksOf(decoder, "self").map((tap, layer) => [tap, { shape: [1, 2, 2], data: Uint8Array.of(0, 1, 4 * layer, 0) }]),
  );
  const trace = modelTrace({ key: "", model: decoder, overview: /** @type {any} */ ({ meta, tensors }) });
  assert.deepEqual([...trace.mask(0, 1)], [0, 1, 0, 0]);
  assert.deepEqual([...trace.mask(1, 1)], [0, 1, 4, 0]);
});

test("the single run that a padded one should equal has its interventions", async () => {
  /** @type {Record<string, any>} */
  const asked = {};
  const answers = Object.fromEntries(
    ["weights", "logits", "detail"].map((what) => [
      what,
      async (/** @type {any} */ state, /** @type {any[]} */ ...rest) => {
        asked[String(rest.at(-1))] = state;
        return what === "weights" ? { meta: { tokens: [] } } : { of: state };
      },
    ]),
  );
  const trace = {
    model: encoder,
    written: null,
    sides: { source: { tokens: [] }, target: null },
    comparedDetail: "compared",
  };
  const state = { ...DEFAULTS, text: "Hi", padCount: 2, interventions: [edit({ layer: 0, query: 3, key: 2 })] };
  const { alone } = await comparedRuns(/** @type {any} */ (answers), state, /** @type {any} */ (trace));
  assert.deepEqual(asked.alone_logits.interventions, [edit({ layer: 0, query: 1, key: 0 })]);
  assert.deepEqual(alone?.logits, { of: asked.alone_logits });
  const plain = await comparedRuns(
    /** @type {any} */ (answers),
    { ...state, interventions: [] },
    /** @type {any} */ (trace),
  );
  assert.equal(plain.alone?.detail, "compared", "as trained but for PADs, the run before is the single one");
});
