/** A link that compares its run with a patch of it. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { laid } from "../../static/model/compare/compare.js";
import {
  comparable,
  compared,
  comparisonOf,
  editing,
  hasLogits,
  hasWeights,
  isCompared,
  otherRun,
  showing,
  sideShown,
  withChanges,
} from "../../static/model/compare/runs.js";
import { samePicture } from "../../static/river/facts.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { patched, RUN_DEFAULTS, runOf } from "../../static/state/run.js";
import { DEFAULTS } from "../../static/state/store.js";

/** @import { State } from "../../static/state/store.js" */

const descriptions = JSON.parse(readFileSync(new URL("./descriptions.json", import.meta.url), "utf8"));
const model = { name: "tiny", ...descriptions.decoder };
/** @param {Partial<State>} more */
const state = (more) => ({ ...DEFAULTS, model: "tiny", text: "The cat", ...more });
/** @param {State} before @param {import("../../static/state/store.js").Patch} patch @returns {State} */
const after = (before, patch) => /** @type {any} */ ({ ...before, ...patch });
const edit = { kind: "ablate", where: { layer: 0, role: "z", head: 1 } };

test("a patch is laid over the run, field by field", () => {
  const run = runOf({ ...RUN_DEFAULTS, text: "Hi", causal: false, padCount: 2 });
  assert.deepEqual(patched(run, { masks: { padding: false } }).masks, { causal: false, padding: false });
  assert.deepEqual(patched(run, { input: { token_ids: [1] } }).input, { token_ids: [1] });
  assert.deepEqual(patched(run, {}), run);
});

test("a link holds the patch, and a link without it compares with the trained masks", () => {
  const link = linkOf(state({ compare: true, against: { interventions: [edit] } }), []);
  const read = readLink(link.slice(1), []);
  assert.deepEqual([read.compare, read.against], [true, { interventions: [edit] }]);
  assert.equal(new URLSearchParams(link.slice(1)).has("compare"), false);
  assert.equal(linkOf(state({ compare: true }), []), "./?model=tiny&compare=on&layer=0#text=The+cat");
  const before = linkOf(state({ compare: false, against: { pad: { count: 1 } } }), []);
  assert.deepEqual(
    [readLink(before.slice(1), []).compare, readLink(before.slice(1), []).against],
    [false, { pad: { count: 1 } }],
  );
});

test("a value that is not a JSON object is left out", () => {
  for (const bad of ["no", "[1]", "null", "3"]) assert.equal("against" in readLink(`?against=${bad}`, []), false);
});

test("before is the run of the link, after is the run with the patch", () => {
  const asked = state({ compare: true, causal: false, against: { interventions: [edit] } });
  const { before, after } = compared(asked, model);
  assert.equal(before, asked);
  assert.deepEqual(runOf(after), { ...runOf(asked), interventions: [edit] });
  assert.deepEqual(otherRun(asked, model), after);
});

test("without a patch, the run is compared with the trained one", () => {
  assert.deepEqual(runOf(otherRun(state({ causal: false }), model)), runOf(state({})));
  assert.equal(otherRun(state({}), model).causal, false);
});

test("before sets the changes aside, after brings them back, and the choice stays on its tokens", () => {
  const changed = state({ causal: false, padCount: 2, interventions: [edit], query: 4, key: 3, compare: true });
  const before = after(changed, showing(changed, "before", model));
  assert.deepEqual([sideShown(before), runOf(before)], ["before", runOf(state({}))]);
  assert.deepEqual([before.query, before.key], [2, 1]); // without the PADs on the left
  const shown = /** @type {const} */ (["after", "difference"]);
  for (const side of shown) {
    const again = after(before, showing(before, side, model));
    assert.deepEqual([sideShown(again), again.query, again.key], [side, 4, 3]);
    assert.deepEqual(runOf(again), runOf(changed));
  }
  assert.deepEqual(runOf(withChanges(before, model)), runOf(changed));
});

test("an edit of the run before brings the others back", () => {
  const changed = state({ causal: false, interventions: [edit] });
  const before = after(changed, showing(changed, "before", model));
  const other = { ...edit, where: { ...edit.where, head: 0 } };
  const patch = editing(before, model, (now) => ({ interventions: [...now.interventions, other] }));
  const then = after(before, patch);
  assert.deepEqual([sideShown(then), then.causal, then.interventions], ["after", false, [edit, other]]);
  const trained = editing(changed, model, () => ({ causal: null, interventions: [] }));
  assert.equal(trained.compare, false); // there is nothing to compare with
});

test("what is undone while the run before is shown is drawn again, though its trace is the same", () => {
  const changed = state({ query: 1, key: 0, causal: false });
  const side = { side: "source", tokens: [{}, {}], real: { start: 0, end: 2 } };
  const none = { explained: {}, predictions: [], classes: null, attentions: [{}], attention: { id: "self" } };
  const trace = /** @type {any} */ ({ ...none, key: "as trained", model, queries: side, keys: side, written: side });
  const before = after(changed, showing(changed, "before", model));
  const undone = after(
    before,
    editing(before, model, () => ({ causal: null })),
  );
  assert.deepEqual([sideShown(before), sideShown(undone)], ["before", "after"]);
  assert.deepEqual(runOf(undone), runOf(before), "no other trace comes");
  assert.equal(samePicture({ trace, state: before }, { trace, state: before }), true);
  assert.equal(samePicture({ trace, state: before }, { trace, state: undone }), false);
});

test("runs that cannot be aligned are not compared, with compare()'s reason", () => {
  const against = (patch) => state({ compare: true, against: patch });
  const found = (patch) => comparable(against(patch), model);
  assert.equal(found({ masks: { causal: false } }).reason, null);
  assert.deepEqual(found({ input: { text: "A dog" } }), { pairs: [], reason: "other_source" });
  assert.deepEqual(found({ model: "other" }), { pairs: [], reason: "other_model" });
  assert.equal(isCompared(against({ model: "other" }), model), false);
  assert.equal(isCompared(state({ compare: true, padCount: 2 }), model), true);
});

test("another target leaves the encoder, another sentence the target and what comes next", () => {
  const translator = { name: "tiny", ...descriptions.translator };
  const open = ["encoder", "decoder", "cross"];
  const found = (patch) => {
    const asked = state({ target: "So", compare: true, against: patch });
    const { pairs, reason } = comparable(asked, translator);
    const weights = open.filter((attention) => hasWeights(pairs, { ...asked, attention }, translator));
    assert.deepEqual(
      weights,
      open.filter((attention) => isCompared({ ...asked, attention }, translator)),
    );
    return { weights, logits: hasLogits(pairs), reason };
  };
  assert.deepEqual(found({ target: "Also" }), { weights: ["encoder"], logits: false, reason: "other_target" });
  const source = { input: { text: "A dog" } };
  assert.deepEqual(found(source), { weights: ["decoder"], logits: true, reason: "other_source" });
});

test("the classes of two sentences can be compared, their heads cannot", () => {
  const classifier = { name: "tiny", ...descriptions.encoder };
  const found = comparable(state({ compare: true, against: { input: { text: "A dog" } } }), classifier);
  assert.deepEqual([found.pairs.map(({ what }) => what), found.reason], [["logits"], "other_source"]);
});

/** @param {number} n @param {number} start @param {number} end @returns {any} */
const side = (n, start, end) => ({
  tokens: Array.from({ length: n }, (_, index) => ({ index })),
  real: { start, end },
});
/** @param {number[]} shape @param {number[]} data @returns {any} */
const head = (shape, data) => ({
  overview: { shape, data: Float32Array.from(data) },
  mask: { shape, data: new Uint8Array(data.length) },
});

test("the other run's cells are placed where compare() aligns them", () => {
  const asked = state({ ids: [4, 7], compare: true, against: { input: { token_ids: [7, 4] } } });
  const at = /** @type {any} */ (comparisonOf(asked, model).sides.source);
  const both = { queries: side(2, 0, 2), keys: side(2, 0, 2) };
  assert.deepEqual([...laid(head([2, 2], [1, 2, 3, 4]), both, { queries: at, keys: at }).overview.data], [4, 3, 2, 1]);
});

test("a PAD has no counterpart", () => {
  const at = /** @type {any} */ (comparisonOf(state({ padCount: 1 }), model).sides.source);
  const both = { queries: side(3, 1, 3), keys: side(3, 1, 3) };
  const found = laid(head([2, 2], [1, 2, 3, 4]), both, { queries: at, keys: at });
  assert.deepEqual([...found.overview.data], [0, 0, 0, 0, 1, 2, 0, 3, 4]);
  assert.deepEqual([...found.mask.data], [16, 16, 16, 16, 0, 0, 16, 0, 0]);
});

test("tokens that have not moved leave the head unchanged", () => {
  const at = /** @type {any} */ (comparisonOf(state({}), model).sides.source);
  const both = { queries: side(2, 0, 2), keys: side(2, 0, 2) };
  const own = head([2, 2], [1, 2, 3, 4]);
  assert.equal(laid(own, both, { queries: at, keys: at }), own);
});
