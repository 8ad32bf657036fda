/** A view or a panel declares in its own fields what the rest of the page needs to know. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { questionPlaces } from "../../static/learn/quiz/question.js";
import { placed } from "../../static/shell/frame.js";
import { twoOf } from "../../static/views/generation/two_settings.js";
import { VIEWS } from "../../static/views/index.js";
import { explainedBy } from "../../static/views/inspector/inspector.js";
import { PANELS } from "../../static/views/panels.js";
import { hasView } from "../../static/views/view.js";

const DECODER = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf-8")).decoder;

/** A model with only the fields that the questions read. */
const model = /** @type {any} */ ({ description: { predicts: "next", can: {}, attentions: [], stacks: [] } });
const state = /** @type {any} */ ({ view: "mine", viewState: {} });
const mine = /** @type {any} */ ({ id: "mine", needs: [], draw() {} });

test("a new view is offered if the model has what it needs", () => {
  assert.equal(hasView(mine, model, state), true);
  assert.equal(hasView({ ...mine, has: () => false }, model, state), false);
});

test("the quiz covers what a new view declares in `gives`", () => {
  const opened = (gives) => questionPlaces(state, model, undefined, [{ ...mine, gives }]).opened?.name;
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
  assert.deepEqual(questionPlaces(state, model, "attention", [mine]).inspector, { name: "attention", how: "covers" });
  assert.equal(questionPlaces(state, model, "attention", [{ ...mine, gives: "attention" }]).inspector?.how, "note");
});

test("a new panel is placed by its frame, after earlier ones", () => {
  const panel = /** @type {any} */ ({ ...mine, frame: { place: "below", className: "panel" } });
  const { byId, at } = placed([...PANELS, panel], ({ id }) => id);
  assert.equal(byId.mine, "mine");
  assert.deepEqual(at.below, ["compare", "effective", "mine"]);
  assert.deepEqual(
    [at.dock, at.tools, at.right, at.drawer],
    [
      ["dock"],
      ["beside_pick"],
      ["inspector", "classes", "gap", "given", "ffn_units"],
      ["watched", "rank", "labels", "batch", "generation", "cache", "fed", "compared_texts", "next_token", "game"],
    ],
  );
});

test("views of a single head declare it, and so does the walk, which follows the open one", () => {
  const named = VIEWS.filter(({ ofHead }) => ofHead).map(({ id }) => id);
  assert.deepEqual(named, ["qkv", "rotation", "attention", "decay", "gate", "av", "computation"]);
});

test("a station with nothing to explain has no inspector", () => {
  const has = (view, more = {}) =>
    explainedBy(VIEWS, /** @type {any} */ ({ ...state, ...more, view, attention: null, layer: 0 }), DECODER);
  assert.deepEqual(
    ["tokens", "embedding", "qkv", "residual"].map((view) => has(view)),
    [null, null, null, null],
  );
  assert.deepEqual(
    ["attention", "av", "ffn", "prediction"].map((view) => has(view)),
    ["weight", "z", "unit", null],
  );
  const withAll = [{ all: true }, { axis: "log" }, { tab: "layers" }]; // until then its cards say it
  assert.deepEqual(
    withAll.map((prediction) => has("prediction", { viewState: { prediction } })),
    ["logit", "logit", "logit"],
  );
  assert.equal(has("residual", { viewState: { residual: { tab: "norms" } } }), "norm");
});

test("an attention that adds to its scores is explained by its own equations", () => {
  const relative = structuredClone(DECODER);
  const [attention] = relative.description.attentions;
  attention.identities = [{ op: "sum", of: ["content", "distance"], gives: "scores" }];
  const explains = (view, of) =>
    explainedBy(VIEWS, /** @type {any} */ ({ ...state, view, attention: attention.id, layer: 0 }), of);
  assert.deepEqual(
    ["attention", "av"].map((view) => explains(view, DECODER)),
    ["weight", "z"],
  );
  assert.deepEqual(
    ["attention", "av"].map((view) => explains(view, relative)),
    ["role", "role"],
  );
});

test("two values of one setting are written side by side, each within its bounds", () => {
  /** @param {object} generation */
  const two = (generation) => twoOf({ viewState: { generation } });
  assert.deepEqual(two({}), {
    by: "temperature",
    values: [0.2, 1.2],
    requests: [{ temperature: 0.2 }, { temperature: 1.2 }],
  });
  assert.deepEqual(two({ by: "topK", cool: 3, warm: 40 }).requests, [{ top_k: 3 }, { top_k: 40 }]);
  assert.deepEqual(two({ by: "topK" }).values, [0, 1], "of a link that names the setting alone: whole numbers");
  assert.deepEqual(two({ by: "topP", cool: 0, warm: 40 }).requests, [{ top_p: 0.01 }, { top_p: 1 }]);
  assert.deepEqual(two({ by: "minP", cool: 0.1, warm: 0 }).requests, [{ min_p: 0.1 }, { min_p: 0 }]);
  assert.deepEqual(two({ by: "penalty", cool: 1, warm: 2 }).requests, [
    { repetition_penalty: 1 },
    { repetition_penalty: 2 },
  ]);
});
