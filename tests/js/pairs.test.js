/** Two texts that are read together: the parts of their matrix, what is chosen in them, and their batch. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runBatch, sentencesOf } from "../../static/data/batch.js";
import { sidesOf } from "../../static/model/sides.js";
import { spotOf } from "../../static/river/words/spots.js";
import { DEFAULTS } from "../../static/state/store.js";
import { freshViewState } from "../../static/state/view_state.js";
import { pairPartOf, showPart, unitCells } from "../../static/views/attention/unit_cells.js";
import { attentionState } from "../../static/views/view_states.js";

const WORDS = ["[CLS]", "a", "[SEP]", "b", "[SEP]"];
const TOKENS = WORDS.map((text, index) => ({
  ...{ index, text, bytes: "", special: text.startsWith("[") },
  ...{ id: index, partial: false, start: 0, end: 0 },
}));
const META = { tokens: TOKENS, position_ids: [0, 1, 2, 3, 4], second: 3, token_type_ids: [0, 0, 0, 1, 1] };
const { source } = sidesOf(META);
const WEIGHTS = Float32Array.from({ length: 25 }, (_, at) => at / 100);
const attention = { id: "self", queries: "source", keys: "source", roles: {} };
const trace = /** @type {any} */ ({
  ...{ attention, queries: source, keys: source, model: {} },
  detail: {
    ...{ attention: "self", layer: 0, head: 0 },
    overview: { data: WEIGHTS, shape: [5, 5] },
    mask: { data: new Uint8Array(25), shape: [5, 5] },
  },
});

/** @param {string} part */
const stateIn = (part, query = 3, key = 0) =>
  /** @type {any} */ ({
    ...{ layer: 0, head: 0, query, key },
    viewState: freshViewState([attentionState], { attention: { part } }),
  });

/** By definition: rows of one text, columns of the other. @param {number[]} rows @param {number[]} cols */
const cut = (rows, cols) => rows.flatMap((row) => cols.map((col) => WEIGHTS[5 * row + col]));
const [A, B] = [
  [0, 1, 2],
  [3, 4],
];

for (const [part, rows, cols] of /** @type {const} */ ([
  ["aa", A, A],
  ["ab", A, B],
  ["ba", B, A],
  ["bb", B, B],
])) {
  test(`${part} are the weights of its rows and columns, unchanged`, () => {
    const units = unitCells(trace, stateIn(part));
    const { values, shape } = units.cells(WEIGHTS);
    assert.deepEqual(shape, [rows.length, cols.length]);
    assert.deepEqual([...values], cut([...rows], [...cols]));
    const last = units.choose(rows.length - 1, cols.length - 1);
    assert.deepEqual(last, { query: rows.at(-1), key: cols.at(-1) });
    const { query, key } = /** @type {any} */ (showPart(trace, stateIn("all"), part));
    assert.ok(rows.includes(/** @type {never} */ (query)) && cols.includes(/** @type {never} */ (key)));
  });
}

test("a choice in the part stays; otherwise its first query and the key that this attends to most", () => {
  const { query, key } = /** @type {any} */ (showPart(trace, stateIn("all", 4, 1), "ba"));
  assert.deepEqual([query, key], [4, 1]);
  const other = /** @type {any} */ (showPart(trace, stateIn("all", 4, 1), "ab"));
  assert.deepEqual([other.query, other.key], [0, 4], "the largest weight of its row is the last");
});

test("a text alone has no parts", () => {
  const { source: alone } = sidesOf({ ...META, second: null });
  const one = { ...trace, queries: alone, keys: alone };
  assert.equal(pairPartOf(one, stateIn("ab")), "all");
  assert.equal(unitCells(one, stateIn("ab")).cells(WEIGHTS).values, WEIGHTS);
});

test("the words about where a token begins name its token type, if the model adds one", () => {
  const spot = (/** @type {object} */ roles, queries = source) => {
    const embedding = { positions: "learned", scale: 1, roles: { embedding: {}, ...roles } };
    const description = { stacks: [{ id: "main", embedding }], attentions: [{ ...attention, stack: "main" }] };
    const state = /** @type {any} */ ({ ...DEFAULTS, view: "embedding", attention: "self", query: 3 });
    const shown = /** @type {any} */ ({ ...trace, queries, model: { description } });
    return /** @type {any} */ (spotOf(shown, state, /** @type {any} */ ({})))?.type;
  };
  assert.equal(spot({ token_types: {} }), 1);
  assert.equal(spot({ token_types: {} }, { ...source, tokenTypes: null }), 0, "one text");
  assert.equal(spot({}), null);
});

test("a batch reads both texts of a pair, and ids with their token types", async () => {
  const { encoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
  const inputs = /** @type {any[]} */ ([]);
  const { fetch } = globalThis;
  globalThis.fetch = async (_, options) => {
    inputs.push(JSON.parse(/** @type {any} */ (options).body).input);
    return Response.json({ error: { code: "cannot", message: "" } }, { status: 400 });
  };
  try {
    const ids = { ids: [1, 7, 2, 8, 2], tokenTypes: [0, 0, 0, 1, 1] };
    for (const state of [{ text: "a", pair: "b" }, ids]) {
      const sentences = sentencesOf({ ...DEFAULTS, ...state }, "longer");
      await assert.rejects(runBatch({ name: "bert", ...encoder }, sentences, null));
    }
  } finally {
    globalThis.fetch = fetch;
  }
  const second = { text: "longer" };
  const typed = { token_ids: [1, 7, 2, 8, 2], token_type_ids: [0, 0, 0, 1, 1] };
  assert.deepEqual(inputs, [{ text: "a", pair: "b" }, second, typed, second]);
});
