/** Which positions are PADs: the run says so, whatever the model calls their token, and whatever id it has. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createNames } from "../../static/data/file_traces.js";
import { actualNext, sidesOf } from "../../static/model/sides.js";
import { actualOf } from "../../static/ui/token_text.js";

/** @param {string} text @param {number} id @param {number} index */
const token = (text, id, index) => ({
  text,
  id,
  index,
  bytes: "",
  start: 0,
  end: 0,
  partial: false,
  special: id === 0,
});

/** A text of three tokens with two PADs. @param {string} name @param {"left"|"right"} side */
function padded(name, side) {
  const own = ["The", " cat", " sat"];
  const texts = side === "right" ? [...own, name, name] : [name, name, ...own];
  const ids = texts.map((text) => (text === name ? 0 : 5 + own.indexOf(text)));
  const position_ids = side === "right" ? [0, 1, 2, 3, 4] : [0, 0, 0, 1, 2];
  const tokens = texts.map((text, i) => token(text, ids[i], i));
  return { tokens, position_ids, pad: { count: 2, side } };
}

/** The list of a model whose most likely token is its PAD. */
const candidates = [0, 6].map((id) => ({ id, before: 0.5 }));

for (const name of ["<pad>", "[PAD]", "<|pad|>", "<|endoftext|>"])
  test(`no text goes on with ${name} where PADs are on the right`, () => {
    const written = sidesOf(padded(name, "right")).source;
    assert.equal(actualNext(written, 2), null);
    const trace = /** @type {any} */ ({ written });
    assert.equal(actualOf(trace, { position: 2, candidates }), null);
    assert.equal(actualOf(trace, { position: 3, candidates }), null, "nor in a PAD's own row");
    assert.equal(actualOf(trace, { position: 0, candidates })?.token.text, " cat");
  });

test("on the left, the text goes on with its first token after the last PAD", () => {
  const written = sidesOf(padded("<pad>", "left")).source;
  assert.deepEqual(
    [0, 1, 2, 4].map((row) => actualNext(written, row)?.text ?? null),
    [null, "The", " cat", null],
  );
});

test("START goes on with what is written, although T5 spells it as its PAD", () => {
  const target = ["<pad>", "Die", "</s>"].map((text, i) => token(text, i, i));
  const written = sidesOf({ ...padded("<pad>", "right"), target_tokens: target }).target;
  assert.equal(actualNext(/** @type {any} */ (written), 0)?.text, "Die");
});

test("names are asked for with the sentence's own tokens, also those with the id of its PADs", async () => {
  const tokens = [token("<|endoftext|>", 0, 0), token("Hi", 7, 1), token("<|endoftext|>", 0, 2)];
  const meta = { tokens, position_ids: [0, 1, 1], pad: { count: 1, side: "right" }, special: { pad: 0 }, family: "" };
  /** @type {number[][]} */
  const asked = [];
  const trace = async (/** @type {any} */ { token_ids }) => {
    asked.push(token_ids);
    return {
      meta: { tokens: token_ids.map((/** @type {number} */ id, /** @type {number} */ i) => token(`t${id}`, id, i)) },
    };
  };
  const namesOf = createNames(/** @type {any} */ ({ trace }), meta, { name: "tiny", special: { pad: 0 } });
  assert.deepEqual(
    (await namesOf([9])).map(({ text }) => text),
    ["t9"],
  );
  assert.deepEqual(asked, [[0, 7, 9]], "the PAD at the end is left out, the token that is read is not");
});
