/** What is said of the cards that ship: of a model's loss beyond the lengths of its training, and of two models. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { figuresOf } from "../../static/views/beside/draw.js";
import { lengthWords } from "../../static/views/lengths.js";
import { testWith } from "./words.js";

const read = (/** @type {string} */ file) =>
  JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8"));
const test = testWith(read("static/i18n/en.json"));
Object.assign(globalThis, { document: { documentElement: { lang: "en" } } });
const cardOf = (/** @type {string} */ name) => read(`model/zoo/${name}/card.json`);
const modelOf = (/** @type {string} */ name, more = {}) => ({
  name,
  max_seq_len: 128,
  n_parameters: 1,
  card: { ...cardOf(name), ...more },
});
const said = (/** @type {string} */ name) => lengthWords(modelOf(name));

test("a small difference keeps its sign and its digits, and is not called none", () => {
  assert.match(
    said("mini-wkv"),
    /at 1,024 tokens cannot be told apart .* at 128: the difference is −0\.002 nats, .* of 0\.00[1-9]\./,
  );
});

test("larger ones have two decimals", () => {
  assert.match(said("mini-rotary"), /its loss rises: at 1,024 it is 0\.74 nats higher \(standard error 0\.04\)/);
  assert.match(said("mini-aft-full"), /a separate vector for each of its 128 positions and none beyond/);
});

test("of two models it is said whether chance or the precision may have made the gap", () => {
  const NAMES = ["mini-softmax", "mini-single-head", "mini-post-norm"];
  const figures = (/** @type {string[]} */ names, /** @type {any[]} */ known) =>
    figuresOf(
      names.map((name) => modelOf(name)),
      known,
    );
  const once = NAMES.map((name) => modelOf(name, { seeds: undefined }));
  const [softmax] = once;
  const apart = (/** @type {number} */ gap) => {
    const bits_per_byte = softmax.card.evaluation.bits_per_byte + gap;
    return [modelOf("mini-softmax", { seeds: [{ bits_per_byte }] }), ...once.slice(1)];
  };
  assert.match(figures(["mini-softmax", "mini-single-head"], once), /0\.979 and 0\.987 .* were float32 and bfloat16/);
  assert.match(
    figures(["mini-softmax", "mini-post-norm"], once),
    /0\.979 and 0\.993 bits per byte\. .* may be chance\.$/,
  );
  assert.match(
    figures(["mini-softmax", "mini-post-norm"], apart(0.002)),
    /up to 0\.002; this gap is more than twice that\.$/,
  );
  assert.match(figures(["mini-softmax", "mini-post-norm"], apart(0.02)), /up to 0\.020, .* no difference\.$/);
  assert.equal(figuresOf([{ card: {} }, undefined], once), "");
});
