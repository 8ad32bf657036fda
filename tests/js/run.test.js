/** A run as a value. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { asked, translationRequest, writingRequest } from "../../static/data/request.js";
import { aloneOf, keepingPlace } from "../../static/model/compare/runs.js";
import { isPlain, RUN_DEFAULTS, runOf, shortRun, stateOf } from "../../static/state/run.js";

const { decoder, translator } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const ABLATE = { kind: "ablate", where: { layer: 1, role: "z", head: 2 } };
const FULL = {
  model: "tiny",
  text: "",
  special: false,
  addSpecial: true,
  pair: null,
  ids: [5, 6],
  tokenTypes: null,
  target: null,
  targetIds: [1, 9],
  causal: false,
  padCount: 3,
  padSide: /** @type {const} */ ("right"),
  padMask: false,
  padFollow: false,
  pixels: null,
  hidden: [],
  interventions: [ABLATE],
};

/** Two PADs before four tokens. */
const PADDED = { ...RUN_DEFAULTS, model: "tiny", paused: [], text: "Hi", padCount: 2 };
/** A cell of a mask. @param {number} query @param {number} key @param {object} [more] */
const edit = (query, key, more = {}) => ({
  kind: "mask",
  where: { layer: 0, role: "mask", ...more, query, key },
  allow: false,
});

test("a state becomes the run of the API, and comes back", () => {
  const run = runOf(FULL);
  assert.deepEqual(run, {
    model: "tiny",
    input: { token_ids: [5, 6] },
    target: null,
    target_ids: [1, 9],
    masks: { causal: false, padding: false },
    pad: { count: 3, side: "right", follow: false },
    interventions: [ABLATE],
  });
  assert.deepEqual(stateOf(JSON.parse(JSON.stringify(run))), FULL);
});

test("missing fields of a run have their defaults", () => {
  assert.deepEqual(stateOf({}), RUN_DEFAULTS);
  assert.deepEqual(stateOf(shortRun(runOf(FULL))), FULL);
  assert.deepEqual(shortRun(runOf(RUN_DEFAULTS)), {});
});

test("a picture and its hidden patches are a run's, and stay in a link", () => {
  const pixels = [
    [0, 16],
    [3, 4],
  ];
  const state = { ...RUN_DEFAULTS, model: "vit", pixels, hidden: [2, 4] };
  const run = runOf(state);
  assert.deepEqual(run.input, { pixels });
  assert.deepEqual(stateOf(JSON.parse(JSON.stringify(shortRun(run)))), state);
  const request = /** @type {any} */ (asked(run));
  assert.deepEqual([request.pixels, request.pad], [pixels, { hidden: [2, 4] }]);
  assert.equal(isPlain(run), false);
});

test("special tokens in a text are a run's, stay in a link, and are asked for", () => {
  const run = runOf({ ...RUN_DEFAULTS, text: "a [MASK]", special: true });
  assert.deepEqual(run.input, { text: "a [MASK]", special: true });
  assert.equal(stateOf(JSON.parse(JSON.stringify(shortRun(run)))).special, true);
  assert.deepEqual(/** @type {any} */ (asked(run)).input, run.input);
  assert.equal(isPlain(run), false);
  assert.equal(stateOf({ input: { token_ids: [1], special: true } }).special, false);
});

test("a second text, and the token types of ids, are a run's, stay in a link, and are asked for", () => {
  for (const input of [
    { text: "a", pair: "b" },
    { text: "a [MASK]", special: true, pair: "" },
    { token_ids: [1, 5, 2], token_type_ids: [0, 0, 1] },
    { text: "<s>hi", special: true, add_special_tokens: false },
    { token_ids: [1, 5, 2], add_special_tokens: false },
  ]) {
    const run = runOf(stateOf({ input }));
    assert.deepEqual(run.input, input);
    assert.deepEqual(runOf(stateOf(JSON.parse(JSON.stringify(shortRun(run))))).input, input);
    assert.deepEqual(/** @type {any} */ (asked(run)).input, input);
    assert.equal(isPlain(run), false);
  }
  assert.equal(stateOf({ input: { token_ids: [1], pair: "b" } }).pair, null, "ids have no second text");
  assert.equal(stateOf({ input: { text: "a", token_type_ids: [1] } }).tokenTypes, null);
});

test("target ids win over a target that was typed", () => {
  assert.equal(runOf({ ...FULL, target: "typed" }).target, null);
  assert.equal(stateOf({ target: "typed", target_ids: [1] }).target, null);
});

for (const [name, run] of Object.entries({
  "no object": 7,
  "ids that are not numbers": { input: { token_ids: ["x"] }, target_ids: [-1] },
  "too many PADs": { pad: { count: 9, side: "above" } },
  "switches that are not switches": { masks: { causal: "on", padding: 1 }, pad: { follow: null } },
  "interventions without a place": { interventions: [{ kind: "ablate" }, null] },
})) {
  test(`a run with ${name} opens as by default`, () => assert.deepEqual(stateOf(run), RUN_DEFAULTS));
}

test("only a model and a text make a plain run", () => {
  assert.ok(isPlain(runOf({ ...RUN_DEFAULTS, model: "tiny", text: "Hi" })));
  for (const change of [
    { ids: [1] },
    { causal: false },
    { padCount: 1 },
    { target: "" },
    { interventions: [ABLATE] },
  ]) {
    assert.ok(!isPlain(runOf({ ...RUN_DEFAULTS, ...change })), JSON.stringify(change));
  }
});

test("without PADs their switches are not in a request", () => {
  const run = runOf({ ...RUN_DEFAULTS, text: "Hi", padMask: false, padSide: "right" });
  assert.deepEqual(asked(run), { model: null, text: "Hi", masks: { causal: null, padding: true } });
});

test("interventions are part of a request, in their order", () => {
  const other = { kind: "mask", where: { layer: 0, role: "mask", query: 1, key: 0 }, allow: false };
  const run = runOf({ ...RUN_DEFAULTS, text: "Hi", interventions: [other, ABLATE] });
  assert.deepEqual(asked(run).interventions, [other, ABLATE]);
});

test("a continued text keeps its run, except its PADs", () => {
  const state = /** @type {any} */ ({ ...FULL, ids: null, text: "Hi", targetIds: null, target: "typed" });
  const kept = { masks: { causal: false, padding: true }, interventions: [ABLATE] };
  assert.deepEqual(writingRequest(state, [1, 2], decoder), { model: "tiny", token_ids: [1, 2], ...kept });
  assert.deepEqual(writingRequest(state, [1, 2], translator), {
    model: "tiny",
    text: "Hi",
    target_ids: [1, 2],
    ...kept,
  });
  assert.deepEqual(translationRequest(state, translator), { model: "tiny", text: "Hi", ...kept });
});

test("without left PADs, an edit of the mask is at the same tokens", () => {
  const state = /** @type {any} */ ({ ...PADDED, interventions: [edit(5, 3), edit(5, 1), ABLATE] });
  const asked = writingRequest(state, [9, 9, 9, 9], decoder);
  assert.deepEqual(asked.interventions, [edit(3, 1), ABLATE], "one at a PAD has no place");
});

test("only indices of the source count PADs", () => {
  const edits = ["encoder", "decoder", "cross"].map((attention) => edit(5, 3, { attention }));
  const asked = translationRequest(/** @type {any} */ ({ ...PADDED, interventions: edits }), translator);
  assert.deepEqual(asked.interventions, [
    edit(3, 1, { attention: "encoder" }),
    edit(5, 3, { attention: "decoder" }),
    edit(5, 1, { attention: "cross" }),
  ]);
  const unnamed = translationRequest(/** @type {any} */ ({ ...PADDED, interventions: [edit(5, 3)] }), translator);
  assert.deepEqual(unnamed.interventions, [edit(3, 1)], "the first attention is the encoder's");
});

test("an edit of a token that is not written yet loses the left PADs, too", () => {
  const state = /** @type {any} */ ({ ...PADDED, ids: [9, 9], interventions: [edit(7, 6)] });
  assert.deepEqual(writingRequest(state, [9, 9, 9, 9], decoder).interventions, [edit(5, 4)]);
});

test("right PADs move nothing, and an edit at one of them is left out", () => {
  const state = /** @type {any} */ ({ ...PADDED, padSide: "right", interventions: [edit(3, 1), edit(5, 1)] });
  assert.deepEqual(writingRequest(state, [9, 9, 9, 9], decoder).interventions, [edit(3, 1)]);
});

test("a patch and the run that it copies from lose their PADs together", () => {
  const from = { input: { text: "Ho" }, pad: { count: 2 }, interventions: [edit(4, 2)] };
  const patch = { kind: "patch", where: { layer: 0, role: "z", query: 4 }, from };
  const bare = { ...from, pad: { count: 0, side: "left", follow: true }, interventions: [edit(2, 0)] };
  const moved = { ...patch, where: { ...patch.where, query: 2 }, from: bare };
  const other = { ...patch, from: { input: { text: "Ho" } } };
  const state = /** @type {any} */ ({ ...PADDED, interventions: [patch, other] });
  assert.deepEqual(writingRequest(state, [9, 9, 9, 9], decoder).interventions, [moved], "rows of other tokens are not");
});

test("the single run has the edits of the padded one", () => {
  const state = /** @type {any} */ ({ ...PADDED, interventions: [edit(5, 3)] });
  const alone = aloneOf(state, decoder);
  assert.equal(alone.padCount, 0);
  assert.deepEqual(alone.interventions, [edit(3, 1)]);
});

test("another padding leaves query, key and edits on their tokens", () => {
  const state = /** @type {any} */ ({
    ...PADDED,
    query: 5,
    key: 3,
    attention: null,
    interventions: [edit(5, 3), edit(4, 0)],
    paused: [{ at: 2, edit: edit(3, 1) }],
  });
  assert.deepEqual(keepingPlace(state, { padCount: 3 }, decoder), {
    padCount: 3,
    query: 6,
    key: 4,
    interventions: [edit(6, 4), edit(5, 0)],
    paused: [{ at: 2, edit: edit(4, 1) }],
  });
  assert.deepEqual(keepingPlace(state, { padSide: "right" }, decoder).interventions, [edit(3, 1)]);
});
