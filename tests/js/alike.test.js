/** Models that were trained alike: which are compared, and what is said of texts beyond the training's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { tabsOf } from "../../static/data/training.js";
import {
  beyondOf,
  gapBetween,
  goesOn,
  inOtherOrder,
  lengthPeers,
  peersOf,
  productsOf,
  spreadOf,
} from "../../static/model/trainings.js";

const like = { model: "base", differs: {} };
const lengths = (/** @type {number[]} */ length, apart = 0, error = 0, ends = false) => ({
  ends,
  length,
  loss: length.map(() => 4),
  apart: length.map((_, i) => (i === length.length - 1 ? apart : 0)),
  error: length.map(() => error),
});
const made = (/** @type {string} */ name, /** @type {any} */ card) =>
  /** @type {any} */ ({ name, max_seq_len: 128, n_parameters: 1, card });
const SHORT = made("short", { trained_like: like, lengths: lengths([64, 128], 0, 0, true) });
const BASE = made("base", { trained_like: like, lengths: lengths([64, 128]) });
const LONG = made("long", { trained_like: like, lengths: lengths([64, 128, 1024], 0.1, 0.02) });
const UNMEASURED = made("unmeasured", { trained_like: like });
const ALONE = made("alone", {});
const ALL = [SHORT, LONG, ALONE, UNMEASURED, BASE];
const names = (/** @type {{name: string}[]} */ models) => models.map(({ name }) => name);

test("models trained alike have one baseline, which stands first", () => {
  assert.deepEqual(names(peersOf(ALL, LONG)), ["base", "short", "long", "unmeasured"]);
  assert.deepEqual(peersOf(ALL, ALONE), []);
  assert.deepEqual(peersOf(ALL, { ...BASE, snapshot_of: "base" }), [], "a snapshot is on its way to a model");
});

test("beside a model's curve over lengths stand its baseline's and those that read on", () => {
  assert.deepEqual(names(lengthPeers(ALL, SHORT)), ["base", "short", "long"]);
  assert.deepEqual(names(lengthPeers(ALL, LONG)), ["base", "long"]);
  assert.deepEqual([SHORT, LONG, UNMEASURED].map(goesOn), [false, true, false]);
});

test("of a difference within twice its standard error nothing is said", () => {
  const kind = (/** @type {number} */ apart) =>
    beyondOf(made("x", { lengths: lengths([128, 1024], apart, 0.02) })).kind;
  assert.deepEqual([0.041, 0.04, 0, -0.04, -0.041].map(kind), ["rises", "same", "same", "same", "falls"]);
  assert.equal(beyondOf(SHORT).kind, "ends");
  const wide = { ...made("wide", { lengths: lengths([64, 1024]) }), max_seq_len: 2048 };
  assert.equal(beyondOf(wide).kind, "within", "it could read on, but no text was longer");
  assert.deepEqual(beyondOf(LONG), { kind: "rises", length: 1024, apart: 0.1, error: 0.02 });
});

test("seeds move a figure by the widest range of a model, and gaps below twice that do not count", () => {
  const of = (/** @type {string} */ name, /** @type {number} */ bits_per_byte, /** @type {number[]} */ ...seeds) =>
    made(name, { evaluation: { bits_per_byte }, seeds: seeds.map((bits_per_byte) => ({ bits_per_byte })) });
  const [a, b, c] = [of("a", 1, 1.02, 0.99), of("b", 2, 2.01), of("c", 1.05)];
  const spread = spreadOf([a, b, c, { ...of("d", 9, 1), snapshot_of: "a" }]);
  assert.deepEqual(spread?.models, ["a", "b"]);
  assert.ok(Math.abs(/** @type {number} */ (spread?.size) - 0.03) < 1e-12);
  assert.equal(spreadOf([c]), null);
  const gap = (/** @type {number} */ size) => gapBetween(c, a, { size });
  assert.deepEqual([gap(0.024).none, gap(0.026).none], [false, true]);
  assert.ok(Math.abs(gap(0.01).gap - 0.05) < 1e-12);
});

test("the precision of the products in training is on the card", () => {
  const on = (/** @type {string} */ hardware) => productsOf({ card: { hardware } });
  assert.equal(on("AMD EPYC, 2 cores, torch 2.13.0, bfloat16 matrix products"), "bfloat16");
  assert.equal(on("a laptop"), "");
  assert.equal(productsOf(undefined), "");
});

test("a model that was trained like others has their table, its snapshots have not", () => {
  const open = { ...LONG, description: { predicts: "next", can: { gradients: false } } };
  assert.deepEqual(tabsOf(open), ["alike"]);
  assert.deepEqual(tabsOf({ ...open, snapshot_of: "long" }), []);
  assert.deepEqual(tabsOf({ ...open, card: {} }), []);
});

test("an untrained model's gradients stand beside those of one whose LayerNorms stand elsewhere", () => {
  const at = (/** @type {string} */ name, /** @type {any} */ differs, measured = true) =>
    made(name, { trained_like: { model: "base", differs }, ...(measured ? { gradients_at_start: {} } : {}) });
  const [pre, wide, post, late] = [
    at("base", {}),
    at("wide", { n_head: 1 }),
    at("post", { norm_order: "post" }),
    at("late", { norm_order: "res-post" }, false),
  ];
  const all = [wide, late, post, pre];
  assert.equal(inOtherOrder(all, { name: "base@0" })?.name, "post");
  assert.equal(inOtherOrder(all, { name: "post@0" })?.name, "base", "the baseline first");
  assert.equal(inOtherOrder([pre, wide], { name: "base@0" }), null);
  assert.equal(inOtherOrder(all, { name: "stranger@0" }), null);
});
