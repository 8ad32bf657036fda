/** Pictures: patches as tokens, strokes, and shares rolled out. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenLabel } from "../../static/model/labels.js";
import { namesOf } from "../../static/model/numbered_names.js";
import { asPatches, blank, patchLabel, patchOf, pixelsOf } from "../../static/model/patches.js";
import { rolledOut } from "../../static/panels/classes/rolled.js";
import { erased, inked, toggledPatch, withPixel } from "../../static/shell/sentence/picture/brush.js";
import { fits } from "../../static/shell/switched.js";

const PICTURE = { size: 4, patch: 2, levels: 17 };
/** @param {number} index @param {string} text @param {boolean} [special] */
const token = (index, text, special = false) => ({
  ...{ index, id: index, bytes: "", text, start: 0, end: 0 },
  ...{ partial: false, special },
});
const TOKENS = [token(0, "[CLS]", true), token(1, "g00g"), token(2, "0000"), token(3, "8800"), token(4, "000g")];

test("a token of a picture has its pixels and its place", () => {
  const [cls, first, , third] = asPatches(TOKENS, PICTURE);
  assert.equal(cls.patch, undefined);
  assert.deepEqual(first.patch, { n: 0, row: 0, column: 0, shades: [1, 0, 0, 1], glyph: "▚" });
  assert.deepEqual([third.patch?.n, third.patch?.row, third.patch?.column], [2, 1, 0]);
  assert.deepEqual(third.patch?.shades, [0.5, 0.5, 0, 0]);
});

test("without a picture tokens stay as they are", () => {
  assert.equal(asPatches(TOKENS, undefined), TOKENS);
});

test("a patch's label says where it is and looks like it", () => {
  assert.deepEqual(asPatches(TOKENS, PICTURE).map(tokenLabel), ["[CLS]", "0,0 ▚", "0,1 □", "1,0 ▀", "1,1 ▗"]);
  assert.equal(patchLabel(patchOf("gggg", 3, PICTURE)), "1,1 █");
  const empty = asPatches([token(0, "[CLS]", true), token(1, "0000"), token(2, "0000")], PICTURE);
  assert.deepEqual(
    namesOf(empty).map(({ nth }) => nth),
    [null, null, null],
  ); // places tell them apart
});

test("patches make the picture that they are cut from", () => {
  const patches = asPatches(TOKENS, PICTURE).flatMap(({ patch }) => patch ?? []);
  assert.deepEqual(pixelsOf(patches, PICTURE), [
    [16, 0, 0, 0],
    [0, 16, 0, 0],
    [8, 8, 0, 0],
    [0, 0, 0, 16],
  ]);
});

test("ink is full in the middle of a stroke, paler around it, and never makes anything paler", () => {
  const drawn = inked(withPixel(blank(3), 0, 1, 9), { x: 1.5, y: 1.5 }, 16);
  assert.deepEqual(drawn, [
    [0, 9, 0],
    [5, 16, 5],
    [0, 5, 0],
  ]);
});

test("an eraser takes away what is under it, and never makes anything darker", () => {
  const full = blank(3).map((row) => row.map(() => 16));
  assert.deepEqual(erased(full, { x: 1.5, y: 1.5 }, 16)[1], [11, 0, 11]);
  assert.deepEqual(erased(blank(3), { x: 1.5, y: 1.5 }, 16), blank(3));
});

test("hidden patches stay in order", () => {
  assert.deepEqual(toggledPatch([2, 9], 5), [2, 5, 9]);
  assert.deepEqual(toggledPatch([2, 5, 9], 5), [2, 9]);
});

test("a picture fits a model of its size and levels", () => {
  assert.ok(fits(blank(4), PICTURE));
  assert.ok(!fits(blank(5), PICTURE));
  assert.ok(!fits(withPixel(blank(4), 0, 0, 17), PICTURE));
  assert.ok(!fits(null, PICTURE));
});

test("shares are multiplied back through the layers", () => {
  // Layer 0: token 1 takes a quarter of itself from 0; layer 1: token 0 takes half of itself from 1.
  const share = Float32Array.from([1, 0, 0.25, 0.75, 0.5, 0.5, 0, 1]);
  const river = /** @type {any} */ ({ layers: 2, tokens: 2, flows: [{ share }] });
  assert.deepEqual(
    rolledOut(river, 0).map((one) => [...one]),
    [
      [0.5, 0.5],
      [0.625, 0.375],
    ],
  );
});
