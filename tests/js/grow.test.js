/** An overview that grows by a generated token's rows. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { grow } from "../../static/data/grow.js";

const { decoder, translator } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const TOKEN = { index: 2, id: 7, text: "z", bytes: "7a", start: 2, end: 3, partial: false, special: false };
const META = { tokens: [TOKEN, TOKEN], position_ids: [0, 1], target_tokens: [TOKEN, TOKEN] };

/** A decoder whose layers have two self-attentions: "self", and "near" with taps of its own. */
function withNear() {
  const [self] = decoder.description.attentions;
  const renamed = Object.entries(self.roles).map(([role, { dims, taps }]) => {
    return [role, { dims, taps: taps.map((/** @type {string} */ tap) => tap.replace(".attn.", ".near.")) }];
  });
  const near = { ...self, id: "near", roles: Object.fromEntries(renamed) };
  return { description: { ...decoder.description, attentions: [self, near] } };
}

/** The overviews of all attentions, [head 2, query 2, key 2]. @param {any} model */
function overviewsOf(model) {
  const named = model.description.attentions.flatMap((/** @type {any} */ one) => one.roles[one.overview].taps);
  const tensor = () => ({ shape: [2, 2, 2], dims: ["head", "query", "key"], data: new Uint8Array(8).fill(9) });
  return Object.fromEntries(named.map((/** @type {string} */ name) => [name, tensor()]));
}

/** Rows [layer 2, head 2, key n] whose numbers say where they belong. @param {number} of @param {number} n */
function rowsOf(of, n) {
  const data = Uint8Array.from({ length: 4 * n }, (_, i) => of + 10 * Math.floor(i / n));
  return { shape: [2, 2, n], data };
}

/** The last row of each head. @param {{shape: number[], data: any}} tensor */
const lastRows = ({ shape: [nHead, nQuery, nKey], data }) =>
  Array.from({ length: nHead }, (_, head) => [
    ...data.slice((head + 1) * nQuery * nKey - nKey, (head + 1) * nQuery * nKey),
  ]);

test("each of two self-attentions in a layer gets its own rows", () => {
  const model = withNear();
  const step = { token: TOKEN, seconds: 0, rows: { self: rowsOf(100, 3), near: rowsOf(1, 3) } };
  const { meta, tensors } = grow({ meta: { ...META, read_text: "zz" }, tensors: overviewsOf(model) }, step, model);
  assert.deepEqual([meta.text, meta.read_text], ["zzz", "zzz"], "the text that is read grows, too");
  for (const [{ id, roles }, first] of /** @type {[any, number][]} */ (
    model.description.attentions.map((/** @type {any} */ one) => [one, one.id === "self" ? 100 : 1])
  ))
    roles.pattern.taps.forEach((/** @type {string} */ name, /** @type {number} */ layer) => {
      assert.deepEqual(tensors[name].shape, [2, 3, 3], id);
      const expected = [0, 1].map((head) => Array(3).fill(first + 10 * (2 * layer + head)));
      assert.deepEqual(lastRows(tensors[name]), expected, name);
    });
});

test("a translator's target grows: the cross-attention gets a query, the encoder nothing", () => {
  const step = { token: TOKEN, seconds: 0, rows: { decoder: rowsOf(100, 3), cross: rowsOf(1, 2) } };
  const overview = { meta: META, tensors: overviewsOf(translator) };
  const { meta, tensors } = grow(overview, step, translator);
  assert.equal(meta.target_tokens.length, 3);
  const of = (/** @type {string} */ id) =>
    translator.description.attentions.find((/** @type {any} */ one) => one.id === id).roles.pattern.taps;
  for (const name of of("encoder")) assert.equal(tensors[name], overview.tensors[name]);
  assert.deepEqual(lastRows(tensors[of("decoder")[1]]), [
    [120, 120, 120],
    [130, 130, 130],
  ]);
  assert.deepEqual(tensors[of("cross")[0]].shape, [2, 3, 2]);
  assert.deepEqual(lastRows(tensors[of("cross")[1]]), [
    [21, 21],
    [31, 31],
  ]);
});

test("a window moves on with the new token, which sees no more of what is beyond it", () => {
  const [self] = decoder.description.attentions;
  const reasons = (/** @type {number} */ n) =>
    Uint8Array.from({ length: n * n }, (_, i) => {
      const [query, key] = [Math.floor(i / n), i % n];
      return (key > query ? 1 : 0) | (Math.abs(query - key) >= 3 ? 4 : 0);
    });
  const [pattern, mask] = [self.roles.pattern.taps[0], self.roles.mask.taps[0]];
  const tensor = (/** @type {Uint8Array} */ data) => ({ shape: [1, 5, 5], dims: [], data });
  const tensors = { [pattern]: tensor(new Uint8Array(25)), [mask]: tensor(reasons(5)) };
  const rows = { self: { shape: [1, 1, 6], data: new Uint8Array(6) } };
  const meta = { ...META, tokens: Array(5).fill(TOKEN) };
  const grown = grow({ meta, tensors }, { token: TOKEN, seconds: 0, rows }, decoder);
  const expected = reasons(6);
  for (let row = 0; row < 5; row++) expected[6 * row + 5] = 1; // an earlier row is as it was
  assert.deepEqual(grown.tensors[mask].data, expected);
});

test("a pooled overview grows as the pattern does that it was pooled from", () => {
  const n = 2;
  /** @param {number[][]} square @param {(...values: number[]) => number} of */
  const pooled = (square, of) => {
    const size = Math.ceil(square.length / n);
    const block = (/** @type {number} */ row, /** @type {number} */ col) =>
      of(...square.slice(row * n, row * n + n).flatMap((line) => line.slice(col * n, col * n + n)));
    return Uint8Array.from({ length: size * size }, (_, i) => block(Math.floor(i / size), i % size));
  };
  /** @param {number} length */
  const patternOf = (length) =>
    Array.from({ length }, (_, q) => Array.from({ length }, (_, k) => (k > q ? 0 : ((7 * q + 3 * k) % 11) * 20)));
  /** @param {number} length */
  const maskOf = (length) => Array.from({ length }, (_, q) => Array.from({ length }, (_, k) => (k > q ? 1 : 0)));
  const [one] = decoder.description.attentions;
  const [pattern, mask] = [one.roles.pattern.taps[1], one.roles.mask.taps[0]];
  /** @param {number} length */
  const overviewOf = (length) => {
    const shape = [1, Math.ceil(length / n), Math.ceil(length / n)];
    return {
      [pattern]: { shape, dims: [], data: pooled(patternOf(length), Math.max) },
      [mask]: { shape, dims: [], data: pooled(maskOf(length), Math.min) },
    };
  };
  for (const length of [4, 5]) {
    const tokens = Array(length).fill(TOKEN);
    const row = patternOf(length + 1)[length];
    const rows = { self: { shape: [2, 1, length + 1], data: Uint8Array.from([...row.map(() => 255), ...row]) } };
    const meta = { ...META, tokens, pool: n };
    const grown = grow({ meta, tensors: overviewOf(length) }, { token: TOKEN, seconds: 0, rows }, decoder);
    assert.deepEqual(grown.tensors, overviewOf(length + 1));
    assert.equal(grown.meta.pool, n);
  }
});
