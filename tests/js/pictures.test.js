/** Pictures: patches as tokens, and strokes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { namesOf, tokenLabel } from "../../static/model/labels.js";
import {
  asPatches,
  blank,
  firstPatch,
  fits,
  meanColour,
  patchAt,
  patchLabel,
  patchLabelled,
  pixelsOf,
  positionAt,
} from "../../static/model/patches.js";
import { erased, inked, toggledPatch, withPixel } from "../../static/shell/sentence/picture/board.js";
import { withoutPads } from "../../static/shell/sentence/sentence.js";

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
  assert.equal(patchLabel(patchAt("gggg", 3, PICTURE)), "1,1 █");
  assert.deepEqual(patchLabelled("1,1 ▝"), { place: "1,1", shades: [0, 1, 0, 0] });
  for (const other of ["car", "1,1", "“.”₁", "1,1 x"]) assert.equal(patchLabelled(other), null);
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

const PHOTO = { size: 2, patch: 1, levels: 256, channels: 3 };
const BYTES = btoa(String.fromCharCode(255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7));
const PLACES = [token(0, "[CLS]", true), token(1, "0,0"), token(2, "0,1"), token(3, "1,0"), token(4, "1,1")];

test("a patch of a photo has the run's pixels, and its place for a label", () => {
  const [cls, ...patches] = asPatches(PLACES, PHOTO, BYTES);
  assert.equal(cls.patch, undefined);
  assert.deepEqual(patches.map(tokenLabel), ["0,0", "0,1", "1,0", "1,1"]);
  assert.deepEqual(
    patches.map(({ patch }) => meanColour(/** @type {any} */ (patch))),
    [
      [255, 0, 0],
      [0, 255, 0],
      [0, 0, 255],
      [9, 8, 7],
    ],
  );
  assert.equal(patches[0].patch?.photo, patches[3].patch?.photo);
});

test("the colour of a patch is the mean of its pixels", () => {
  const [, whole] = asPatches(PLACES.slice(0, 2), { ...PHOTO, patch: 2 }, BYTES);
  assert.deepEqual(meanColour(/** @type {any} */ (whole.patch)), [66, 66, 66]);
});

test("a photo fits a model of its size and channels, and no other kind", () => {
  assert.ok(fits(BYTES, PHOTO));
  assert.ok(!fits(BYTES, { ...PHOTO, size: 3 }));
  assert.ok(!fits(BYTES, { ...PHOTO, channels: 1 }));
  assert.ok(!fits(`${BYTES.slice(0, -1)}<`, PHOTO));
  assert.ok(!fits(BYTES, PICTURE));
  assert.ok(!fits(blank(2), PHOTO));
});

test("an own sentence begins without the PADs of a card", () => {
  const examples = {
    examples: [
      { model: "a", text: "She reads.", padCount: 3 },
      { model: "a", text: "He sat." },
    ],
  };
  const state = { model: "a", text: "She reads.", padCount: 3 };
  assert.deepEqual(withoutPads(examples, state), { padCount: 0, padSide: "left" });
  assert.deepEqual(withoutPads(examples, { ...state, model: null }), { padCount: 0, padSide: "left" });
  for (const own of [{ text: "She read" }, { padCount: 2 }, { model: "b" }, { text: "He sat." }, { padCount: 0 }])
    assert.deepEqual(withoutPads(examples, { ...state, ...own }), {});
});

test("the patches of a photo come after [CLS] and registers", () => {
  const photo = { size: 2, patch: 1, levels: 256, channels: 1, before: ["[CLS]", "[REG1]"] };
  const names = ["[CLS]", "[REG1]", "0,0", "0,1", "1,0", "1,1"];
  const tokens = names.map((name, at) => token(at, name, at < 2));
  const found = asPatches(tokens, photo, btoa("abcd"));
  assert.deepEqual(
    found.map(({ patch }) => patch?.n),
    [undefined, undefined, 0, 1, 2, 3],
  );
  assert.deepEqual([firstPatch(photo), firstPatch(PICTURE)], [2, 1]);
  assert.deepEqual([positionAt({ row: 1, column: 0 }, photo), tokens[4].text], [4, "1,0"]);
});
