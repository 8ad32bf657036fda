import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  answeringStack,
  attentionOf,
  attentionsOf,
  ffnOf,
  has,
  identityOf,
  normPlace,
  overviewOf,
  parameterOf,
  predictsTokens,
  readsRepeats,
  stackOf,
  sublayersOf,
  tapOf,
  trainedCausal,
  wordOf,
  writesTarget,
} from "../../static/model/description.js";
import { hasRoles, named, normsOf, partOf, sideOfTap } from "../../static/model/taps.js";

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
    [decoder, encoder, translator].map((one) => normPlace(answeringStack(one))),
    ["pre", "res-post", "post"],
  );
});

test("a first attention without a norm, as ModernBERT’s, hides none of the others", () => {
  const stack = structuredClone(answeringStack(decoder));
  stack.layers[0].sublayers[0].norm = null;
  assert.equal(normPlace(stack), "pre");
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

test("heads are measured on repeated tokens where they read the tokens that the model predicts", () => {
  assert.ok(readsRepeats(decoder));
  assert.ok(!readsRepeats(translator), "a decoder also reads another sentence");
  const without = structuredClone(decoder);
  for (const attention of without.description.attentions) delete attention.roles.pattern;
  assert.ok(!readsRepeats(without), "an RWKV");
});
