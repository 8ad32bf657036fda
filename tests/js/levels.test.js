/** Three levels of depth: which one a link opens at, and what is offered there. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { PANELS } from "../../static/panels/index.js";
import { river } from "../../static/river/panel.js";
import { hrefOf } from "../../static/shell/examples.js";
import { fitted } from "../../static/shell/setter.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { atLeast, LEVELS, levelFrom, raisedTo } from "../../static/state/page_fields.js";
import { DEFAULTS } from "../../static/state/store.js";
import { VIEWS } from "../../static/stations/index.js";
import { hasView } from "../../static/stations/view.js";

const write = (state) => linkOf({ ...DEFAULTS, ...state }, []);
const model = (can) => /** @type {any} */ ({ description: { predicts: "next", can, attentions: [], stacks: [] } });

test("each level shows what the one before it shows", () => {
  const shown = LEVELS.map((level) => LEVELS.filter((one) => atLeast({ level }, one)));
  assert.deepEqual(shown, [["look"], ["look", "understand"], ["look", "understand", "everything"]]);
});

test("a way to the stations raises Look only", () => {
  assert.deepEqual(
    LEVELS.map((level) => raisedTo({ level }, "understand")),
    ["understand", "understand", "everything"],
  );
});

for (const search of ["", "?text=Hi", "?view=ffn", '?run={"masks":{"causal":false}}', "?river.layer=main.2"]) {
  test(`a link without a level opens at the reader's: /${search}`, () =>
    assert.equal(readLink(search, []).level, undefined));
}

test("a card's link opens at its reader's level", () => {
  const example = { see: {}, claim: {}, model: "tiny", text: "Hi" };
  for (const level of LEVELS) {
    const link = hrefOf(example, level, []).slice(1);
    assert.equal(readLink(link, []).level, level);
  }
});

test("a quiz opens the stations, and Look ends it", () => {
  const after = (/** @type {any} */ before, /** @type {any} */ patch) => {
    const { level, quiz } = { ...before, ...fitted(before, patch, () => null, []) };
    return [level, quiz];
  };
  const [look, asked] = [
    { ...DEFAULTS, level: "look" },
    { ...DEFAULTS, quiz: true },
  ];
  assert.deepEqual(after(look, { quiz: true }), ["understand", true]);
  assert.deepEqual(after({ ...look, quiz: true }, { ...look, quiz: true }), ["understand", true], "a link");
  assert.deepEqual(after(asked, { level: "look" }), ["look", false]);
  assert.deepEqual(after(asked, { level: "understand" }), ["understand", true]);
});

test("what was remembered may be anything", () => {
  assert.equal(levelFrom(null), "look");
  assert.equal(levelFrom("deepest"), "look");
  assert.equal(levelFrom("understand"), "understand");
});

for (const level of LEVELS) {
  for (const state of [{ text: "Hi" }, { text: "Hi", head: 2 }, { text: "Hi", view: "ffn", quiz: true }]) {
    const link = write({ ...state, level });
    test(`${link} opens at ${level}, whatever its reader's level`, () => {
      const { search } = new URL(link, "http://x");
      assert.equal(readLink(search, []).level, level);
    });
  }
}

test("the river is there from the first level on, stations from the second", () => {
  const state = { ...DEFAULTS, level: /** @type {const} */ ("look") };
  const open = model({ route: true });
  assert.equal(hasView(river, open, state), true);
  assert.deepEqual(
    [...VIEWS, ...PANELS].filter((view) => hasView(view, open, state)),
    [],
  );
});

test("a model without a river is looked at through its open station", () => {
  const state = { ...DEFAULTS, level: /** @type {const} */ ("look") };
  const tokens = VIEWS.filter(({ id }) => id === "tokens");
  assert.equal(
    tokens.some((view) => hasView(view, model({}), state)),
    true,
  );
});
