/** What a view or a panel is for the rest of the page, it says in its own fields. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { placesOf } from "../../static/learn/quiz/questions/index.js";
import { PANELS } from "../../static/panels/index.js";
import { placed } from "../../static/shell/places.js";
import { hasView, VIEWS } from "../../static/stations/index.js";

/** A model without attentions: nothing but what the questions ask. */
const model = /** @type {any} */ ({ description: { predicts: "next", attentions: [], stacks: [] } });
const state = /** @type {any} */ ({ view: "mine", own: {} });
const mine = /** @type {any} */ ({ id: "mine", needs: [], draw() {} });

test("a new view is offered where the model has what it asks for", () => {
  assert.equal(hasView(mine, model, state), true);
  assert.equal(hasView({ ...mine, has: () => false }, model, state), false);
});

test("the quiz covers what a new view says that it gives away", () => {
  const opened = (gives) => placesOf(state, model, undefined, [{ ...mine, gives }]).opened?.name;
  assert.equal(opened("attention"), "attention");
  assert.equal(opened("end"), "next");
  assert.equal(opened("units"), "units");
  assert.equal(opened(undefined), undefined);
  assert.equal(
    opened(() => "attention"),
    "attention",
  );
});

test("what the inspector gives away is covered as well", () => {
  assert.deepEqual(placesOf(state, model, "attention", [mine]).why, { name: "attention", how: "covers" });
  assert.equal(placesOf(state, model, "attention", [{ ...mine, gives: "attention" }]).why?.how, "note");
});

test("a new panel stands where its frame says, after those before it", () => {
  const panel = /** @type {any} */ ({ ...mine, frame: { place: "below", className: "panel" } });
  const { byId, at } = placed([...PANELS, panel], ({ id }) => id);
  assert.equal(byId.mine, "mine");
  assert.deepEqual(at.below, ["change", "batch", "mine"]);
  assert.deepEqual(
    [at.side, at.top, at.right, at.foot],
    [["labels"], [], ["classes", "why"], ["generation", "next_token"]],
  );
});

test("views that are read head by head say so", () => {
  const named = VIEWS.filter(({ ofHead }) => ofHead).map(({ id }) => id);
  assert.deepEqual(named, ["qkv", "scores", "mask", "weights", "av"]);
});
