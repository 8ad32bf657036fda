/** What was asked, as a value. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, translationRequest, writingRequest } from "../../static/data/request.js";
import { isPlain, RUN_DEFAULTS, runOf, shortRun, stateOf } from "../../static/state/run.js";

const ABLATE = { kind: "ablate", where: { layer: 1, role: "z", head: 2 } };
const FULL = {
  model: "tiny",
  text: "",
  ids: [5, 6],
  target: null,
  targetIds: [1, 9],
  causal: false,
  padCount: 3,
  padSide: /** @type {const} */ ("right"),
  padMask: false,
  padFollow: false,
  interventions: [ABLATE],
};

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

test("what a run leaves out is as by default", () => {
  assert.deepEqual(stateOf({}), RUN_DEFAULTS);
  assert.deepEqual(stateOf(shortRun(runOf(FULL))), FULL);
  assert.deepEqual(shortRun(runOf(RUN_DEFAULTS)), {});
});

test("target ids win over a target that was typed", () => {
  assert.equal(runOf({ ...FULL, target: "typed" }).target, null);
  assert.equal(stateOf({ target: "typed", target_ids: [1] }).target, null);
});

for (const [name, run] of Object.entries({
  "no object": 7,
  "ids that are no numbers": { input: { token_ids: ["x"] }, target_ids: [-1] },
  "too many PADs": { pad: { count: 9, side: "above" } },
  "switches that are no switches": { masks: { causal: "on", padding: 1 }, pad: { follow: null } },
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

test("without PADs their switches are no part of a request", () => {
  const run = runOf({ ...RUN_DEFAULTS, text: "Hi", padMask: false, padSide: "right" });
  assert.deepEqual(asked(run), { model: null, text: "Hi", masks: { causal: null, padding: true } });
});

test("interventions are part of a request, in their order", () => {
  const other = { kind: "mask", where: { layer: 0, role: "mask", query: 1, key: 0 }, allow: false };
  const run = runOf({ ...RUN_DEFAULTS, text: "Hi", interventions: [other, ABLATE] });
  assert.deepEqual(asked(run).interventions, [other, ABLATE]);
});

test("what is written on keeps to its run, but for its PADs", () => {
  const state = /** @type {any} */ ({ ...FULL, ids: null, text: "Hi", targetIds: null, target: "typed" });
  const kept = { masks: { causal: false, padding: true }, interventions: [ABLATE] };
  assert.deepEqual(writingRequest(state, [1, 2], false), { model: "tiny", token_ids: [1, 2], ...kept });
  assert.deepEqual(writingRequest(state, [1, 2], true), { model: "tiny", text: "Hi", target_ids: [1, 2], ...kept });
  assert.deepEqual(translationRequest(state), { model: "tiny", text: "Hi", ...kept });
});
