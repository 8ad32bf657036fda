/** The edits of a run: set aside and applied again at their places, heads that are off, chips, undo and redo. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  countOf,
  editsOf,
  groupsOf,
  headsEdited,
  headsOff,
  headToggled,
  onlyHead,
  onlyOn,
  switched,
  withEdits,
  without,
} from "../../static/model/edits.js";
import { toggled } from "../../static/model/interventions.js";
import { fitted } from "../../static/shell/setter.js";
import { createEditHistory } from "../../static/state/edit_history.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { runOf } from "../../static/state/run.js";
import { DEFAULTS } from "../../static/state/store.js";

/** @import { State } from "../../static/state/store.js" */

const { decoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const { attentions } = decoder.description;
const [{ n_layer: layers, n_head: heads }] = attentions;

/** @param {Partial<State>} [patch] @returns {State} */
const stateWith = (patch = {}) => ({ ...DEFAULTS, model: "a", text: "one two", ...patch });
/** @param {number} layer @param {number} head */
const headAt = (layer, head) => ({ attention: "self", layer, head });
/** @param {State} state */
const kinds = (state) => groupsOf(state, decoder).map(({ kind, on, edits }) => [kind, on, edits.length]);

const edges = Array.from({ length: layers }, (_, layer) => ({ attention: "self", layer, query: 1, key: 0 }));
const hidden = stateWith({ interventions: toggled([], edges, attentions) });

test("a head is switched off, set aside, and on again, and says what the server reads", () => {
  const off = stateWith(headToggled(stateWith(), headAt(1, 0), attentions));
  const where = { attention: "self", layer: 1, role: "z", head: 0 };
  assert.deepEqual(off.interventions, [{ kind: "ablate", where }]);
  assert.deepEqual(headsOff(off.interventions, attentions), [headAt(1, 0)]);
  const paused = stateWith(switched(off, [0], false));
  assert.deepEqual([paused.interventions, paused.paused], [[], [{ at: 0, edit: off.interventions[0] }]]);
  assert.deepEqual(headToggled(paused, headAt(1, 0), attentions), withEdits(editsOf(off)), "not a second time");
  assert.deepEqual(headToggled(off, headAt(1, 0), attentions), { interventions: [], paused: [] });
});

test("a head is edited by an edit that names it, not by one that switches it off or reaches a whole layer", () => {
  const cell = { kind: "mask", where: { attention: "self", layer: 1, head: 0, query: 1, key: 0 }, allow: false };
  const layer = { ...cell, where: { ...cell.where, head: null } };
  const [off] = headToggled(stateWith(), headAt(0, 1), attentions).interventions;
  assert.deepEqual(headsEdited([off, layer], attentions), []);
  assert.deepEqual(headsEdited([off, cell, layer], attentions), [headAt(1, 0)]);
});

test("only one head of a layer is one chip, and the same again puts all back", () => {
  const one = stateWith(onlyHead(hidden, headAt(0, 1), attentions));
  assert.deepEqual(headsOff(one.interventions, attentions).length, heads - 1);
  const group = groupsOf(one, decoder).at(-1);
  assert.ok(group && "head" in group);
  assert.deepEqual(onlyHead(one, headAt(0, 1), attentions), { interventions: hidden.interventions, paused: [] });
});

test("the sentence names the head that alone stays on, if nothing but its neighbours is off", () => {
  const { description } = decoder;
  const three = { ...decoder, description: { ...description, attentions: [{ ...attentions[0], n_head: 3 }] } };
  const { interventions } = onlyHead(hidden, headAt(0, 1), three.description.attentions);
  assert.deepEqual(onlyOn(interventions, three), headAt(0, 1));
  assert.equal(onlyOn(headToggled(stateWith({ interventions }), headAt(1, 0), attentions).interventions, three), null);
  assert.equal(onlyOn(hidden.interventions, three), null);
});

test("an edit that is set aside keeps its place among the others, in no run and in the link", () => {
  const three = stateWith(
    headToggled(stateWith(headToggled(hidden, headAt(0, 0), attentions)), headAt(1, 1), attentions),
  );
  const aside = stateWith(switched(three, [layers], false));
  assert.deepEqual(kinds(aside), [
    ["edge", true, layers],
    ["head", false, 1],
    ["head", true, 1],
  ]);
  assert.deepEqual(editsOf(stateWith(switched(aside, [layers], true))), editsOf(three));
  assert.ok(!JSON.stringify(runOf(aside)).includes('"layer":0,"role":"z"'));
  const link = linkOf(aside, []);
  assert.ok(link.indexOf("paused=") > link.indexOf("#"), "a patch may have a typed text");
  assert.deepEqual(readLink(link, []).paused, aside.paused);
  assert.deepEqual(readLink("/#paused=[1,{}]", []).paused, [], "a link may say anything");
});

test("one chip is what one gesture made", () => {
  assert.deepEqual(kinds(hidden), [["edge", true, layers]]);
  const [group] = groupsOf(hidden, decoder);
  assert.ok(group.kind === "edge" && group.all, "in every layer");
  const fewer = stateWith(without(hidden, [0]));
  const [left] = groupsOf(fewer, decoder);
  assert.ok(left.kind === "edge" && !left.all);
  const many = [0, 1, 2, 3].map((query) => ({ attention: "self", layer: 0, query, key: 0, head: 0 }));
  assert.deepEqual(kinds(stateWith({ interventions: toggled([], many, attentions) })), [["edges", true, 4]]);
  const opened = { kind: "mask", where: { attention: "self", layer: 0, role: "mask" }, allow: true };
  assert.deepEqual(kinds(stateWith({ interventions: [opened] })), [], "its switch says it");
});

test("a stroke is one line of the list, and a connection counts once in however many layers", () => {
  const stroke = [1, 2, 3].map((key) => ({ attention: "self", layer: 0, query: 4, key, head: 0 }));
  const state = stateWith({ interventions: toggled(toggled([], stroke, attentions), edges, attentions) });
  const groups = groupsOf(state, decoder);
  assert.deepEqual(kinds(state), [
    ["edges", true, 3],
    ["edge", true, layers],
  ]);
  const [line] = groups;
  assert.ok(line.kind === "edges");
  assert.deepEqual([line.queries, line.keys, line.edge.head], [[4], [1, 2, 3], 0]);
  assert.equal(countOf(groups), 4);
  const column = [1, 2, 3, 4].map((query) => ({ attention: "self", layer: 0, query, key: 0, head: 0 }));
  const [hides] = groupsOf(stateWith({ interventions: toggled([], column, attentions) }), decoder);
  assert.ok(hides.kind === "edges", "a token that is hidden from all is one line, too");
  assert.deepEqual([hides.queries, hides.keys], [[1, 2, 3, 4], [0]]);
  assert.deepEqual(kinds(stateWith(switched(state, line.edits, false))), [
    ["edge", false, 1],
    ["edge", false, 1],
    ["edge", false, 1],
    ["edge", true, layers],
  ]);
});

test("edits that are set aside leave with their model and with their tokens", () => {
  const aside = stateWith(switched(stateWith(headToggled(hidden, headAt(0, 0), attentions)), [0, layers], false));
  const modelOf = () => ({ ...decoder, name: "a", never_sampled: [] });
  const another = fitted(aside, { text: "three" }, modelOf, []);
  assert.deepEqual(
    another.paused?.map(({ edit }) => edit.kind),
    ["ablate"],
    "a head is one of any sentence",
  );
  assert.deepEqual(fitted(aside, { model: "b" }, modelOf, []).paused, []);
});

test("undo and redo follow the edits, and forget them with the sentence", () => {
  const history = createEditHistory();
  const start = stateWith();
  const off = stateWith({ causal: false });
  const both = stateWith({ causal: false, interventions: hidden.interventions });
  for (const state of [start, off, { ...off, layer: 1 }, both]) history.see(state);
  assert.deepEqual(history.undo()?.interventions, []);
  history.see(off); // by the button, by the key, or by Back
  assert.deepEqual([history.undo()?.causal, history.redo()?.interventions], [null, hidden.interventions]);
  history.see(both);
  assert.equal(history.redo(), null);
  history.see(off);
  history.see(stateWith({ causal: false, padCount: 1 }));
  assert.equal(history.redo(), null, "what was undone is another way");
  for (const state of [off, both, start]) history.see(state); // all of them are undone at once
  assert.equal(history.undo(), null);
  assert.deepEqual(history.redo()?.interventions, hidden.interventions, "and redone at once");
  history.see(both);
  assert.deepEqual([history.undo()?.causal, history.undo()?.interventions], [false, []], "then undone one by one");
  for (const state of [off, start, off]) history.see(state);
  assert.deepEqual(history.redo()?.interventions, hidden.interventions, "two steps back, two again");
  history.see(stateWith({ text: "three" }));
  assert.equal(history.undo(), null);
  const brought = stateWith({ text: "three", interventions: hidden.interventions });
  const linked = createEditHistory();
  linked.see(brought);
  linked.takingBack();
  linked.see({ ...brought, interventions: [] });
  const brings = linked.redo()?.interventions;
  assert.deepEqual([linked.undo(), brings], [null, hidden.interventions], "what a link brought is redone, too");
});
