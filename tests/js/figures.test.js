/** What is saved as a figure: the bars of a ranking, what a PNG says of itself, and what the numbers of a map are. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";
import { rankedBars } from "../../static/chart/figures.js";
import { piecesOf } from "../../static/export/scene.js";
import { pngWithText } from "../../static/ui/save.js";
import { figureAbout } from "../../static/views/rank/effects.js";
import { scaleWords } from "../../static/views/rank/patch.js";
import { testWith } from "./words.js";

const read = (/** @type {string} */ file) =>
  JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));
const test = testWith(read("static/i18n/en.json"));
Object.assign(globalThis, { document: { documentElement: { lang: "en", dataset: {} } } });

const bytesOf = (/** @type {string} */ text) => new TextEncoder().encode(text);
const textOf = (/** @type {Uint8Array} */ bytes) => new TextDecoder().decode(bytes);
const joined = (/** @type {Uint8Array[]} */ ...parts) => Uint8Array.from(parts.flatMap((one) => [...one]));
const big = (/** @type {number} */ n) => Uint8Array.of(n >>> 24, n >>> 16, n >>> 8, n);

/** @param {string} name @param {Uint8Array} data */
function chunk(name, data) {
  const body = joined(bytesOf(name), data);
  return joined(big(data.length), body, big(crc32(body)));
}

/** The chunks of a PNG, whose check sums must be right. @param {Uint8Array} png */
function chunksOf(png) {
  const view = new DataView(png.buffer, png.byteOffset);
  const found = [];
  for (let at = 8; at < png.length; ) {
    const length = view.getUint32(at);
    const body = png.subarray(at + 4, at + 8 + length);
    assert.equal(view.getUint32(at + 8 + length), crc32(body));
    found.push({ name: textOf(body.subarray(0, 4)), data: body.subarray(4) });
    at += 12 + length;
  }
  return found;
}

test("a PNG says what it is, in a chunk that a reader of the format finds, and keeps its others", () => {
  const header = Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0); // 1 × 1, 8 bits of grey
  const grey = chunk("IDAT", deflateSync(Uint8Array.of(0, 7)));
  const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  const png = joined(signature, chunk("IHDR", header), grey, chunk("IEND", Uint8Array.of()));
  const about = "car ← ball, “駅”\nhttp://x/?a=1#text=b\0";
  const [first, text, ...rest] = chunksOf(pngWithText(png, "Description", about));
  assert.deepEqual([first.name, text.name, ...rest.map(({ name }) => name)], ["IHDR", "iTXt", "IDAT", "IEND"]);
  assert.equal(textOf(text.data.subarray(0, 16)), "Description\0\0\0\0\0");
  assert.equal(textOf(text.data.subarray(16)), about.replace("\0", ""));
  assert.deepEqual(first.data, header);
});

test("bars begin at one line, negative ones to its left; together they have all the room", () => {
  assert.deepEqual(rankedBars([-4, -1]), {
    zero: 320,
    bars: [
      { x: 0, w: 320 },
      { x: 240, w: 80 },
    ],
  });
  assert.deepEqual(rankedBars([3, -1]), {
    zero: 80,
    bars: [
      { x: 80, w: 240 },
      { x: 0, w: 80 },
    ],
  });
  assert.deepEqual(rankedBars([0]), { zero: 0, bars: [{ x: 0, w: 0 }] });
});

const car = { id: 7, text: " car", bytes: "20636172", partial: false, special: false };
const ball = { ...car, id: 8, text: " ball" };
const tokens = ["red", " car", " red"].map((text, index) => ({ ...car, index, text }));
const trace = /** @type {any} */ ({ written: { side: "source", tokens, real: { start: 0, end: 3 } } });

test("a figure says what was measured, its unit, what a sign means, and of which row", () => {
  const start = { answer: 7, row: 2, p: 0.9, parts: 6, tokens: { 7: car }, classes: [] };
  const said = figureAbout("delta", start, trace, true);
  for (const words of [
    "z is set to 0",
    "Shown: p(car) without it − with it, in percentage points",
    "negative:",
    "p(car) = 90",
    "token 3",
    "FFN column has",
  ])
    assert.ok(said.includes(words), `${words}: ${said}`);
  assert.ok(!figureAbout("delta", start, trace, false).includes("FFN column"), "a ranking of heads has none");
  assert.match(
    figureAbout("kl", start, { ...trace, written: null }, false),
    /KL\(before ‖ after\).*a class of the whole input/,
  );
});

test("a patching figure gives both logit differences and says which end is 0", () => {
  const ends = { difference: 4.93, source_difference: -7.42, ids: { source: [], target: null } };
  const start = { ...ends, answer: 7, against: 8, row: 2, p: 0.9, parts: 1, tokens: { 7: car, 8: ball }, classes: [] };
  const said = scaleWords(start, trace);
  for (const words of ["logit car − logit ball", "+4.93 here and −7.42 there", "0: as here, 1: as there"])
    assert.ok(said.includes(words), `${words}: ${said}`);
});

test("a caption breaks between words and Japanese letters, not before a full stop nor after a bracket", () => {
  const text = "値：ln p(駅) の変化（切った後）は 78 %。“the red” ok";
  assert.equal(piecesOf(text).join(""), text);
  for (const piece of piecesOf(text)) assert.doesNotMatch(piece, /^[。）、]|（$/);
  assert.deepEqual(piecesOf("変化（切った"), ["変", "化", "（切", "っ", "た"]);
});
