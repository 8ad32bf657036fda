/** Edits of the formula: what the server reads, what a chip says, and which models offer them. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { maskChanges } from "../../static/model/compare/runs.js";
import { groupsOf, headsOff, switched } from "../../static/model/edits.js";
import {
  dividesScores,
  hasMean,
  hasNorms,
  hasTemperature,
  hasWindow,
  isMade,
  isPartOff,
  madeOrUndone,
  meanOver,
  partToggled,
  positionsFixed,
  replacedBy,
  scaleToggled,
  scoresIn,
  temperatureAt,
  windowAt,
  withTemperature,
  withWindow,
} from "../../static/model/formula_edits.js";
import { deviationOf, normalised } from "../../static/model/matrix.js";
import { linkOf, readLink } from "../../static/state/link.js";
import { DEFAULTS } from "../../static/state/store.js";
import { sentencesIn } from "../../static/views/edit_how.js";

/** @import { State } from "../../static/state/store.js" */

const models = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const { decoder } = models;
const { attentions } = decoder.description;

/** @param {Partial<State>} [patch] @returns {State} */
const stateWith = (patch = {}) => ({ ...DEFAULTS, model: "a", text: "one two", ...patch });

test("an attention and an FFN are switched off, on again, and are no heads", () => {
  const ffn = /** @type {const} */ ({ attention: "self", layer: 1, part: "ffn" });
  const attention = /** @type {const} */ ({ ...ffn, part: "attention" });
  const off = stateWith(partToggled(stateWith(partToggled(stateWith(), ffn, attentions)), attention, attentions));
  assert.deepEqual(off.interventions, [
    { kind: "ablate", where: { attention: "self", layer: 1, role: "out" } },
    { kind: "ablate", where: { attention: "self", layer: 1, role: "attn_out" } },
  ]);
  assert.deepEqual([isPartOff(off, ffn, attentions), isPartOff(off, { ...ffn, layer: 0 }, attentions)], [true, false]);
  assert.deepEqual(headsOff(off.interventions, attentions), []);
  assert.deepEqual(maskChanges(off, decoder)?.parts, [ffn, attention]);
  assert.equal(maskChanges(off, decoder)?.others, 0);
  assert.equal(groupsOf(off, decoder).length, 2);
  const aside = stateWith(switched(off, [0], false));
  assert.equal(isPartOff(aside, ffn, attentions), false);
  assert.deepEqual(partToggled(aside, ffn, attentions).interventions, off.interventions, "not a second time");
  assert.equal(partToggled(off, ffn, attentions).interventions.length, 1);
});

test("an FFN is one, whichever attention of its stack names it", () => {
  const { encoder_decoder: translator } = models;
  const all = (translator ?? models.translator)?.description.attentions;
  assert.ok(all, Object.keys(models).join());
  const at = (/** @type {string} */ attention) => /** @type {const} */ ({ attention, layer: 0, part: "ffn" });
  const off = stateWith(partToggled(stateWith(), at("decoder"), all));
  assert.deepEqual(
    ["decoder", "cross", "encoder"].map((id) => isPartOff(off, at(id), all)),
    [true, true, false],
  );
});

test("what is about the whole model names no place, and a link brings it back", () => {
  const state = stateWith(madeOrUndone(stateWith(madeOrUndone(stateWith(), "no_positions")), "freeze_norms"));
  assert.deepEqual(state.interventions, [
    { kind: "no_positions", where: {} },
    { kind: "freeze_norms", where: {} },
  ]);
  const read = readLink(linkOf(state, []), []);
  assert.deepEqual(read.interventions, state.interventions);
  assert.deepEqual(madeOrUndone(state, "no_positions").interventions, [{ kind: "freeze_norms", where: {} }]);
  assert.deepEqual([isMade(state, "no_positions"), isMade(stateWith(), "no_positions")], [true, false]);
});

test("scores are divided by what the run says, in its heads alone", () => {
  const [{ id }] = attentions;
  const all = { attention: id, layer: null };
  const one = { attention: id, layer: 1, head: 0 };
  const heated = stateWith(
    withTemperature(stateWith(withTemperature(stateWith(), all, 2, attentions)), one, 4, attentions),
  );
  const { interventions } = stateWith(scaleToggled(heated, one, attentions));
  const at = (/** @type {number} */ layer, /** @type {number} */ head) =>
    scoresIn(interventions, attentions[0], attentions, { layer, head });
  assert.deepEqual(
    [at(1, 0), at(1, 1)],
    [
      { scaled: false, temperature: 8 },
      { scaled: true, temperature: 2 },
    ],
  );
  assert.equal(temperatureAt(heated, one, attentions), 4);
  assert.deepEqual(withTemperature(heated, all, 1, attentions).interventions.length, 1, "1 is as trained");
});

test("a window limits what the tokens of one text see, once at each place", () => {
  const [self] = attentions;
  const at = { attention: self.id, layer: null };
  const near = stateWith(withWindow(stateWith(withWindow(stateWith(), at, 8, attentions)), at, 4, attentions));
  assert.deepEqual(near.interventions, [{ kind: "window", where: at, size: 4 }]);
  assert.equal(windowAt(near, at, attentions), 4);
  assert.equal(windowAt(near, { ...at, layer: 1 }, attentions), null);
  assert.deepEqual(withWindow(near, at, null, attentions).interventions, []);
  assert.equal(hasWindow(self), true);
  assert.equal(hasWindow({ ...self, keys: "target" }), false);
  const { mask: _, ...others } = self.roles;
  assert.equal(hasWindow({ ...self, roles: others }), false);
});

test("a model offers what it has", () => {
  const about = Object.fromEntries(
    Object.entries(models).map(([name, model]) => [
      name,
      [
        positionsFixed(model),
        hasNorms(model),
        ...["dividesScores", "hasTemperature"].map((what) =>
          (what === "dividesScores" ? dividesScores : hasTemperature)(model.description.attentions[0]),
        ),
      ],
    ]),
  );
  assert.deepEqual(about.decoder, [null, true, true, true]);
  const { stacks } = decoder.description;
  const still = {
    ...decoder,
    description: {
      ...decoder.description,
      stacks: stacks.map((/** @type {any} */ one) => ({ ...one, embedding: { ...one.embedding, positions: "none" } })),
    },
  };
  assert.equal(positionsFixed(still), "none");
  const decays = {
    ...still,
    description: { ...still.description, attentions: [{ ...attentions[0], parameters: { decay: ["w"] } }] },
  };
  assert.equal(positionsFixed(decays), "decay");
});

test("a part that is off may have its mean in its place, and is then not off", () => {
  const off = stateWith(partToggled(stateWith(), { attention: "self", layer: 1, part: "ffn" }, attentions));
  const mean = stateWith(replacedBy(off, [0], "mean"));
  assert.deepEqual(mean.interventions, [{ ...off.interventions[0], to: "mean" }]);
  assert.equal(maskChanges(mean, decoder)?.parts.length, 0);
  assert.deepEqual(replacedBy(mean, [0], "zero"), { interventions: off.interventions, paused: [] });
  const head = { kind: "ablate", where: { attention: "self", layer: 0, role: "z", head: 1 } };
  assert.equal(headsOff([head], attentions).length, 1);
  assert.equal(headsOff([{ ...head, to: "mean" }], attentions).length, 0);
  const stored = { means: { n: 9 } };
  assert.deepEqual(
    [hasMean(head, stored), hasMean(head, {}), hasMean({ ...head, where: { ...head.where, role: "q" } }, stored)],
    [true, false, false],
  );
});

test("a mean over the reader's own sentences is one edit, and none of them is zero again", () => {
  const off = stateWith(partToggled(stateWith(), { attention: "self", layer: 1, part: "ffn" }, attentions));
  const own = stateWith(meanOver(off, [0], ["one", "two"]));
  assert.deepEqual(own.interventions, [{ ...off.interventions[0], to: "mean", over: ["one", "two"] }]);
  assert.deepEqual(stateWith(meanOver(own, [0], ["three"])).interventions[0].over, ["three"]);
  for (const back of [meanOver(own, [0], []), replacedBy(own, [0], "zero")])
    assert.deepEqual(back, { interventions: off.interventions, paused: [] });
  assert.equal(hasMean(own.interventions[0], { means: { n: 9 } }), false);
  assert.deepEqual(sentencesIn(" one \n\n two\n"), ["one", "two"]);
});

test("a frozen norm's σ follows from what it read and wrote", () => {
  const x = [1, 4, -2, 0.5];
  const [gain, bias] = [
    [1, 2, 0.5, -1],
    [0.1, 0, 3, 1],
  ];
  const mean = x.reduce((one, other) => one + other, 0) / 4;
  const out = (/** @type {number} */ deviation, from = mean) =>
    x.map((one, i) => ((one - from) / deviation) * gain[i] + bias[i]);
  assert.ok(Math.abs(deviationOf(x, out(7), gain, bias, false) - 7) < 1e-9);
  assert.ok(Math.abs(deviationOf(x, out(0.25, 0), gain, bias, true) - 0.25) < 1e-9);
  assert.equal(normalised(x, 1, 0, false, 7).hat, (4 - mean) / 7);
});
