import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { described, specialIds } from "../../static/data/version1.js";
import {
  answeringStack,
  attentionOf,
  attentionsOf,
  ffnOf,
  has,
  identityOf,
  overviewOf,
  parameterOf,
  placeOf,
  predictsTokens,
  stackOf,
  sublayersOf,
  tapOf,
  trainedCausal,
  wordOf,
  writesTarget,
} from "../../static/model/description.js";
import { hasRoles, named } from "../../static/model/needs.js";
import { normsOf, partOf, sideOfTap } from "../../static/model/places.js";

const all = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const { decoder, encoder, translator } = all;

test("the last attention is the one without a name", () => {
  assert.deepEqual(
    attentionsOf(translator).map(({ id }) => id),
    ["encoder", "decoder", "cross"],
  );
  assert.equal(attentionOf(translator).id, "cross");
  assert.equal(attentionOf(translator, "decoder").id, "decoder");
  assert.equal(attentionOf(translator, "none of these").id, "cross");
  assert.deepEqual(attentionsOf(null), []);
});

test("a role has one tensor per layer, and a missing role is an error", () => {
  const cross = attentionOf(translator);
  assert.equal(tapOf(cross, 1, "pattern"), "decoder.layers.1.cross_attn.pattern");
  assert.equal(parameterOf(cross, 0, "w_o"), "decoder.layers.0.cross_attn.w_o.weight");
  assert.equal(parameterOf(cross, 0, "w_gate"), null);
  assert.throws(() => tapOf(cross, 0, "gate"), /cross has no gate in layer 0/);
  assert.throws(() => tapOf(cross, 2, "pattern"), /layer 2/);
});

test("a name maps back to its place", () => {
  const cross = attentionOf(translator);
  assert.deepEqual(partOf(translator, "decoder.layers.1.cross_attn.pattern"), {
    attention: cross,
    layer: 1,
    role: "pattern",
  });
  for (const attention of attentionsOf(translator))
    for (const [role, { taps }] of Object.entries(attention.roles))
      taps.forEach((tap, layer) => assert.deepEqual(partOf(translator, tap), { attention, layer, role }));
  assert.equal(partOf(translator, "decoder.layers.1.ffn.pre"), null);
});

test("a tensor outside the attentions belongs to the side of its stack", () => {
  assert.equal(sideOfTap(translator, "encoder.layers.0.ffn.post"), "source");
  assert.equal(sideOfTap(translator, "decoder.layers.0.resid_cross"), "target");
  assert.equal(sideOfTap(translator, "logits"), "target");
  assert.equal(sideOfTap(encoder, "final_norm.out"), "source");
});

test("sublayers are in order, each reading the stream that the previous one leaves", () => {
  const own = sublayersOf(translator, "decoder", 0);
  assert.deepEqual(
    own.map((one) => wordOf(translator, one)),
    ["attn", "cross_attn", "ffn"],
  );
  own.slice(1).forEach((one, i) => assert.equal(one.reads.tap, own[i].leaves.tap));
  assert.equal(ffnOf(translator, "decoder", 1)?.parameters.w_2, "decoder.layers.1.ffn.w_2.weight");
});

test("two or three norms per block, and a final one if blocks do not end with one", () => {
  assert.equal(normsOf(stackOf(translator, "decoder")).length, 6);
  assert.equal(normsOf(stackOf(decoder, attentionOf(decoder))).length, 5);
  assert.deepEqual(
    [decoder, encoder, translator].map((one) => placeOf(answeringStack(one))),
    ["pre", "res-post", "post"],
  );
});

test("predicts and writes replace the family", () => {
  assert.deepEqual([decoder, encoder, translator].map(predictsTokens), [true, false, true]);
  assert.deepEqual([decoder, encoder, translator].map(writesTarget), [false, false, true]);
  assert.deepEqual([decoder, encoder, translator].map(trainedCausal), [true, false, true]);
  assert.ok(!predictsTokens(undefined));
});

test("an attention without an overview lacks it, whatever other roles it has", () => {
  const none = {
    ...attentionOf(decoder),
    overview: null,
    roles: { q: { dims: "head position d_head", taps: ["a.q", "b.q"] } },
  };
  const model = { description: { ...decoder.description, attentions: [none] } };
  assert.ok(has(attentionOf(decoder), "overview"));
  assert.equal(overviewOf(attentionOf(decoder)), "pattern");
  assert.ok(!has(none, "overview") && has(none, "q") && !has(none, "pattern"));
  assert.ok(hasRoles(["q"], model, { attention: null, layer: 0 }));
  assert.ok(!hasRoles(["q", "overview"], model, { attention: null, layer: 0 }));
});

test("a need by role is the open attention's tensor", () => {
  assert.equal(named("role:z", { attention: "encoder", layer: 1 }, translator), "tensor:encoder.layers.1.attn.z");
  assert.equal(named("tensor:logits", { attention: null, layer: 0 }, translator), "tensor:logits");
  assert.equal(named("detail", { attention: null, layer: 0 }, translator), "detail");
});

test("identities are looked up by their result", () => {
  assert.deepEqual(identityOf(attentionOf(decoder), "scores"), {
    op: "scaled_product",
    of: ["q", "k"],
    gives: "scores",
  });
  assert.equal(identityOf(attentionOf(decoder), "q"), null);
});

/** The metadata of such a file of version 1, and the shapes of its tensors. */
function version1({ config, description }) {
  const attentions = description.attentions.map(({ id, queries, keys, causal, roles }) => ({
    ...{ id, queries, keys, causal },
    path: roles.z.taps[0].replace("layers.0.", "layers.{layer}.").replace(/\.z$/, ""),
  }));
  const shapes = { pattern: [2, 3, 3], q: [2, 3, 4], mask: [1, 3, 3] };
  const tensors = Object.fromEntries(
    description.attentions.flatMap(({ roles }) =>
      Object.entries(roles).flatMap(([role, { taps }]) => taps.map((tap) => [tap, { shape: shapes[role] ?? [3, 8] }])),
    ),
  );
  const classes = config.classes.map((name) => ({ name }));
  const meta = { model: "old", tokens: [1, 2, 3], max_seq_len: 32, family: config.family, config, attentions, classes };
  return { meta, tensors };
}

test("a file of version 1 names its special tokens one by one, or not at all", () => {
  assert.deepEqual(specialIds({ pad_id: 7, end_id: 6, first_id: 8 }), { pad: 7, end: 6, first: 8 });
  assert.deepEqual(specialIds({ end_id: 6 }), { pad: null, end: 6, first: null });
});

test("a file of version 1 gets the description that its model has today", () => {
  for (const model of [decoder, encoder, translator]) {
    const { id, can, ...made } = described(version1(model), undefined);
    const { id: _id, can: _can, ...own } = model.description;
    for (const { sublayers } of own.stacks.flatMap(({ layers }) => layers))
      for (const one of sublayers) assert.equal(typeof one.layer, "number");
    assert.deepEqual(made, own);
  }
});

test("a file without a configuration still has its layers and heads", () => {
  const { meta, tensors } = version1(decoder);
  const bare = { meta: { model: "old", tokens: meta.tokens }, tensors };
  const { attentions, stacks } = described(bare, undefined);
  assert.deepEqual(
    attentions.map(({ n_layer, n_head, d_head }) => [n_layer, n_head, d_head]),
    [[2, 2, 4]],
  );
  assert.equal(stacks[0].embedding.scale, null);
});
