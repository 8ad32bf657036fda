/** The pencil's arithmetic: from cells to interventions that do not contradict each other. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsBetween } from "../../static/chart/matrix/view.js";
import {
  baseUnder,
  edited,
  editedLine,
  flipped,
  HIDDEN_IN,
  maskUnder,
  openedIn,
  placesHidden,
  zeroAfter,
} from "../../static/model/mask_edits.js";
import { REASONS } from "../../static/model/taps.js";

const N = 5;
const { causal, padding, edited: byHand } = REASONS;
/** A causal mask whose first key is a PAD. @param {number} query @param {number} key */
const usual = (query, key) => (key > query ? causal : 0) | (key === 0 ? padding : 0);
const base = Uint8Array.from({ length: N * N }, (_, at) => usual(Math.floor(at / N), at % N));
const head = /** @type {any} */ ({ attention: "self", first: "self", layer: 2, head: 1, shape: [N, N], base });
const where = { attention: "self", layer: 2, role: "mask" };

/** @param {object} at @param {boolean} allow @param {string[]} [lifts] */
const mask = (at, allow, lifts) => ({ kind: "mask", where: { ...where, ...at }, allow, ...(lifts && { lifts }) });

/** A click with the pencil. @param {any[]} interventions @param {[number, number]} cell @param {any} [scope] */
function click(interventions, [query, key], scope = "head") {
  const allow = maskUnder(head, interventions)[query * N + key] !== 0;
  return edited(head, interventions, { scope, allow, cells: [{ query, key }] });
}

const ablated = { kind: "ablate", where: { layer: 0, role: "z", head: 1 } };

test("a click forbids an allowed cell, and a second one takes the edit back; the others keep their order", () => {
  const cut = mask({ head: 1, query: 3, key: 2 }, false);
  const other = mask({ head: 1, query: 4, key: 1 }, false);
  assert.deepEqual(click([ablated], [3, 2]), [ablated, cut]);
  assert.deepEqual(click([cut, ablated, other], [3, 2]), [ablated, other]);
});

test("a click allows a forbidden cell and says which reasons it lifts; a second one takes that back", () => {
  const later = mask({ head: 1, query: 2, key: 4 }, true, ["causal"]);
  assert.deepEqual(click([], [2, 4]), [later]);
  assert.deepEqual(click([later], [2, 4]), []);
  assert.deepEqual(click([], [2, 0])[0].lifts, ["padding"]);
});

test("a scope is one edit: a head, all heads of the layer, or every layer", () => {
  assert.deepEqual(click([], [3, 2], "layer"), [mask({ query: 3, key: 2 }, false)]);
  assert.deepEqual(click([], [3, 2], "all"), [mask({ layer: null, query: 3, key: 2 }, false)]);
  const json = JSON.stringify(click([], [3, 2], "all")[0].where);
  assert.equal(json, '{"attention":"self","layer":null,"role":"mask","query":3,"key":2}', "in the server's order");
});

test("an edit of a wider scope replaces the narrower ones, and a narrower one lifts only what it must", () => {
  const heads = [mask({ head: 1, query: 3, key: 2 }, false), mask({ head: 4, query: 3, key: 2 }, false)];
  assert.deepEqual(click(heads, [3, 2], "layer"), [], "allowed again in all heads");
  const all = mask({ layer: null, query: 3, key: 2 }, false);
  const open = mask({ head: 1, query: 3, key: 2 }, true, ["edited"]);
  assert.deepEqual(click([all], [3, 2]), [all, open]);
  assert.deepEqual(click([all, open], [3, 2]), [all]);
  assert.deepEqual(click([all, open], [3, 2], "all"), [mask({ layer: null, query: 3, key: 2 }, false)]);
});

test("a head in the scope that is not open counts, too", () => {
  const row = mask({ layer: 4, query: 3 }, false);
  const cut = mask({ head: 1, query: 3, key: 2 }, false);
  const lifted = mask({ layer: null, query: 3, key: 2 }, true, ["edited"]);
  assert.deepEqual(click([row, cut], [3, 2], "all"), [row, lifted], "the row of layer 4 hides it there");
});

test("a stroke over all allowed cells of a row, or of a column, is one edit", () => {
  const cells = [1, 2, 3, 4].map((key) => ({ query: 4, key }));
  const stroke = (/** @type {any[]} */ of) => edited(head, [], { scope: "head", allow: false, cells: of });
  assert.deepEqual(stroke(cells), [mask({ head: 1, query: 4 }, false)]);
  assert.equal(stroke(cells.slice(1)).length, 3);
  const column = [1, 2, 3, 4].map((query) => ({ query, key: 1 }));
  assert.deepEqual(stroke(column), [mask({ head: 1, key: 1 }, false)]);
  const later = [2, 3, 4].map((key) => ({ query: 1, key }));
  assert.equal(edited(head, [], { scope: "head", allow: true, cells: later }).length, 3, "the PAD stays forbidden");
});

test("what a stroke passes that is so already stays as it is", () => {
  const cells = [1, 2, 3].map((key) => ({ query: 2, key }));
  const made = edited(head, [], { scope: "head", allow: false, cells });
  assert.deepEqual(
    made.map((one) => one.where.key),
    [1, 2],
  );
});

test("a row is hidden whole and shown again, with what was hidden in it before; its later keys stay forbidden", () => {
  const cut = mask({ head: 1, query: 3, key: 2 }, false);
  const turn = (/** @type {any[]} */ all, /** @type {object} */ line) =>
    editedLine(head, all, { scope: "head", line, ...flipped(head, all, line) });
  const hidden = turn([ablated, cut], { query: 3 });
  assert.deepEqual(hidden, [ablated, mask({ head: 1, query: 3 }, false)]);
  assert.deepEqual(turn(hidden, { query: 3 }), [ablated]);
  const opened = turn(hidden, { key: 2 });
  assert.deepEqual(opened.at(-1), mask({ head: 1, key: 2 }, false));
});

test("a cell of a hidden row can be shown alone", () => {
  const row = mask({ head: 1, query: 3 }, false);
  assert.deepEqual(click([row], [3, 2]), [row, mask({ head: 1, query: 3, key: 2 }, true, ["edited"])]);
});

test("the mask without edits follows from the mask with them, and gives it again", () => {
  const edits = [
    mask({ head: 1, query: 4, key: 2 }, false),
    mask({ query: 1 }, true, ["causal"]),
    mask({ layer: null, query: 1, key: 3 }, false),
    mask({ head: 1, query: 2, key: 0 }, true),
  ];
  const shown = maskUnder(head, edits);
  assert.deepEqual([shown[4 * N + 2], shown[1 * N + 4], shown[1 * N + 3]], [byHand, 0, byHand]);
  assert.deepEqual([...shown.slice(N, 2 * N)], [padding, 0, 0, byHand, 0]);
  assert.deepEqual(baseUnder(shown, edits, head, usual), base);
  assert.deepEqual(maskUnder({ ...head, head: 0, base }, edits)[4 * N + 2], 0, "another head");
});

test("cells that an edit opens are marked, and none that is only shown again", () => {
  const later = mask({ head: 1, query: 2, key: 4 }, true, ["causal"]);
  const opened = openedIn(maskUnder(head, [later]), [later], head);
  assert.deepEqual(
    [...(opened ?? [])].flatMap((one, at) => (one ? [at] : [])),
    [2 * N + 4],
  );
  const all = mask({ layer: null, query: 3, key: 2 }, false);
  const again = [all, mask({ head: 1, query: 3, key: 2 }, true, ["edited"])];
  assert.equal(openedIn(maskUnder(head, again), again, head), null);
  const whole = [mask({}, true, ["causal"])]; // the causal mask of a layer is off: its switch says so
  assert.equal(openedIn(maskUnder(head, whole), whole, head), null);
});

test("a hidden cell is known by the widest place in which it is hidden", () => {
  const edits = [
    mask({ head: 1, query: 4, key: 2 }, false),
    mask({ query: 3, key: 1 }, false),
    mask({ layer: null, query: 2, key: 0 }, false),
    ...[0, 1, 2].map((layer) => mask({ layer, query: 4, key: 4 }, false)),
    ...[0, 1].map((layer) => mask({ layer, query: 4, key: 3 }, false)), // not in the open one
    mask({ head: 1, query: 4, key: 4 }, false),
  ];
  const found = placesHidden(maskUnder(head, edits), edits, { ...head, layers: 3 });
  const cells = Object.fromEntries(
    [...found].flatMap((place, at) => (place ? [[`${Math.floor(at / N)} ${at % N}`, place]] : [])),
  );
  const { head: one, layer: own, all } = HIDDEN_IN;
  assert.deepEqual(cells, { "4 2": one, "3 1": own, "2 0": all, "4 4": all });
});

test("an edit without an attention is about the first one", () => {
  const cut = { kind: "mask", where: { layer: 2, head: 1, query: 3, key: 2 }, allow: false };
  assert.deepEqual(click([cut], [3, 2]), []);
  assert.equal(maskUnder({ ...head, attention: "cross" }, [cut])[3 * N + 2], 0);
});

test("a fast pointer passes every cell on its way", () => {
  const at = (/** @type {number} */ row, /** @type {number} */ col) => ({ row, col });
  assert.deepEqual(cellsBetween(at(1, 1), at(1, 1)), []);
  assert.deepEqual(cellsBetween(at(0, 0), at(0, 3)), [at(0, 1), at(0, 2), at(0, 3)]);
  assert.deepEqual(cellsBetween(at(3, 1), at(0, 0)), [at(2, 1), at(1, 0), at(0, 0)]);
});

test("zero after the softmax is −∞ before it only once the row is divided by what is left", () => {
  const scores = [1, 3, 0.5, 2, 9];
  const found = zeroAfter(scores, [0, byHand, 0, 0, causal]);
  assert.ok(found);
  const e = scores.map(Math.exp);
  const whole = e[0] + e[1] + e[2] + e[3];
  assert.deepEqual(
    found.weights.map((one, i) => Math.abs(one - [e[0], 0, e[2], e[3], 0][i] / whole) < 1e-12),
    Array(5).fill(true),
  );
  assert.ok(Math.abs(found.sum - (whole - e[1]) / whole) < 1e-12 && found.sum < 0.5);
  const infinite = [e[0], 0, e[2], e[3], 0].map((one) => one / (whole - e[1]));
  assert.ok(found.renormalised.every((one, i) => Math.abs(one - infinite[i]) < 1e-12));
  assert.equal(zeroAfter(scores, [0, 0, 0, 0, causal]), null, "nothing is hidden by hand");
  assert.equal(zeroAfter(scores, [0, byHand | causal, 0, 0, causal]), null, "it was forbidden anyway");
  assert.deepEqual(zeroAfter([1, 2], [byHand, byHand])?.renormalised, [0, 0]);
});
