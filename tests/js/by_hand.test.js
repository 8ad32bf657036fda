/** One activation of another sentence, put in by hand: the edit that a drop makes, and which tokens correspond. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { RANK_HAND } from "../../static/data/explain.js";
import {
  canPut,
  changesNothing,
  correspond,
  pairsPut,
  putByHand,
  putOrTaken,
  sideOfRows,
} from "../../static/model/by_hand.js";
import { attentionsOf } from "../../static/model/description.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { DEFAULTS } from "../../static/state/store.js";

/**
 * @import { What } from "../../static/model/by_hand.js"
 * @import { State } from "../../static/state/store.js"
 */

const models = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const { decoder, translator } = models;
/** @param {Partial<State>} [more] @returns {State} */
const stateWith = (more = {}) => ({ ...DEFAULTS, text: "a red car", layer: 1, head: 0, ...more });
const source = "a red ball";

test("a drop makes one patch of the row, named by query or by key, and of another row where it came from one", () => {
  const made = (/** @type {What} */ what, row = 2, theirs = 2) =>
    putByHand(stateWith(), decoder, { what, source, row, theirs });
  const attention = attentionsOf(decoder)[0].id;
  const from = { input: { text: source } };
  assert.deepEqual(made("stream"), { kind: "patch", where: { attention, layer: 1, role: "stream", query: 2 }, from });
  assert.deepEqual(made("ffn").where, { attention, layer: 1, role: "out", query: 2 });
  assert.deepEqual(made("z").where, { attention, layer: 1, role: "z", head: 0, query: 2 });
  assert.deepEqual(made("v", 2, 0).where, { attention, layer: 1, role: "v", head: 0, key: 2, from_row: 0 });
  const whole = putByHand(stateWith(), decoder, { what: "attention", source, row: null, theirs: null });
  assert.deepEqual(whole.where, { attention, layer: 1, role: "attn_out" });
});

test("PADs and masks of this run are the other's too", () => {
  const state = stateWith({ padCount: 2, causal: false });
  const { from } = putByHand(state, decoder, { what: "stream", source, row: 3, theirs: 3 });
  assert.deepEqual(from, { input: { text: source }, masks: { causal: false }, pad: { count: 2 } });
});

test("the same drop takes it back; a link brings it, and the board shows it", () => {
  const made = putByHand(stateWith(), decoder, { what: "stream", source, row: 2, theirs: 1 });
  const state = stateWith(putOrTaken(stateWith(), made));
  assert.deepEqual(state.interventions, [made]);
  assert.deepEqual(pairsPut(state, source), [[1, 2]]);
  assert.deepEqual(pairsPut(state, "another"), []);
  assert.deepEqual(putOrTaken(state, made).interventions, []);
  const link = linkOf({ ...state, model: "gpt" }, []);
  assert.deepEqual(readLink(link, []).interventions, [made]);
});

test("tokens correspond before the first and after the last that differ, and between if they are as many", () => {
  assert.deepEqual(correspond([1, 2, 3], [1, 9, 3]), [0, 1, 2]);
  assert.deepEqual(correspond([1, 2, 3, 4], [1, 8, 9, 3, 4]), [0, null, null, 2, 3]);
  assert.deepEqual(correspond([1, 2, 7, 3], [1, 3]), [0, 3]);
});

test("a causal model has the same numbers up to where the sentences differ", () => {
  const same = (/** @type {number} */ row, causal = true, theirs = row) =>
    changesNothing([1, 2, 3], [1, 9, 3], { causal, row, theirs });
  assert.deepEqual([same(0), same(1), same(2), same(0, false), same(0, true, 2)], [true, false, false, false, false]);
});

test("what is offered follows from the attention: its rows may be another sentence's", () => {
  const [attention] = attentionsOf(decoder);
  assert.ok(RANK_HAND.every((what) => canPut(decoder, attention, what)));
  const shared = { ...attention, n_kv_head: 1, n_head: 2 };
  const grouped = { ...shared, roles: { ...shared.roles, k: { ...shared.roles.k, dims: "kv_head position d_head" } } };
  assert.equal(canPut(decoder, grouped, "k"), false, "several heads share it");
  const cross = attentionsOf(translator).find(({ id }) => id === "cross");
  assert.ok(cross);
  assert.deepEqual(
    [sideOfRows(cross, "q"), sideOfRows(cross, "v"), sideOfRows(cross, "stream")],
    ["target", "source", "target"],
  );
});
