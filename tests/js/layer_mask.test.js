/** The causal mask off in one layer only. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { keepingPlace } from "../../static/model/compare/runs.js";
import { everyLayer, layerOnly } from "../../static/model/interventions.js";
import { DEFAULTS } from "../../static/state/store.js";

const self = /** @type {any} */ ({ id: "self", causal: true });
const model = /** @type {any} */ ({ description: { attentions: [self] } });
const only = { kind: "mask", where: { attention: "self", layer: 2, role: "mask" }, allow: true };
const state = (more) => ({ ...DEFAULTS, layer: 2, ...more });

test("a mask that is off everywhere can be off in the open layer only, and back", () => {
  assert.deepEqual(layerOnly(state({ causal: false }), self, model), {
    only: true,
    patch: { causal: null, interventions: [only] },
  });
  assert.deepEqual(layerOnly(state({ interventions: [only] }), self, model), {
    only: false,
    patch: { causal: false, interventions: [] },
  });
});

test("wherever it is off in one layer, there is a way back: from another layer, with PADs, and by the switch", () => {
  for (const more of [{ layer: 5 }, { padCount: 2 }, { against: { pad: { count: 1 } } }]) {
    const back = { only: false, patch: { causal: false, interventions: [] } };
    assert.deepEqual(layerOnly(state({ interventions: [only], ...more }), self, model), back);
  }
  const cut = { ...only, where: { ...only.where, query: 3, key: 1 }, allow: false };
  assert.deepEqual(everyLayer(state({ interventions: [cut, only] }), true, model), {
    causal: null,
    interventions: [cut],
  });
  assert.deepEqual(everyLayer(state({ interventions: [cut] }), false, model), { causal: false });
});

test("added PADs are not allowed by a layer without its mask", () => {
  const source = /** @type {any} */ ({ ...self, queries: "source", keys: "source" });
  const decoder = { description: { attentions: [source], writes: "source" } };
  const padded = (more) => keepingPlace(state({ text: "Hi", interventions: [only], ...more }), more.to, decoder);
  assert.deepEqual(padded({ to: { padCount: 1 } }).interventions, []);
  assert.deepEqual(padded({ padCount: 2, to: { padCount: 1 } }).interventions, [only]);
});

test("it is not offered where PADs would be allowed too, or without a causal mask", () => {
  assert.equal(layerOnly(state({ causal: false, padCount: 2 }), self, model), null);
  assert.equal(layerOnly(state({ causal: false }), { ...self, causal: false }, model), null);
});
