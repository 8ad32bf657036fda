/** The activations of FFNs: values from torch, and the steps of the walk. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { activationOf } from "../../static/model/activations.js";
import { activationStep } from "../../static/model/description.js";

/** torch.nn.functional in float64, at −4, −1.5, −0.1, 0, 0.7 and 3. */
const AT = [-4, -1.5, -0.1, 0, 0.7, 3];
const TORCH = {
  relu: [0, 0, 0, 0, 0.7, 3],
  gelu: [-0.00012668496733, -0.10021080190329, -0.0460172162723, 0, 0.53062544344385, 2.99595030590511],
  gelu_tanh: [-7.024594819e-5, -0.10042842301977, -0.04601724895456, 0, 0.53057013470512, 2.99636260791823],
  silu: [-0.07194483984837, -0.27363828570953, -0.04750208125211, 0, 0.46773144051772, 2.85772238046725],
};

test("an activation is torch's", () => {
  for (const [name, expected] of Object.entries(TORCH)) {
    const { of } = activationOf(name);
    for (const [i, x] of AT.entries()) assert.ok(Math.abs((of?.(x) ?? NaN) - expected[i]) < 1e-7, `${name}(${x})`);
  }
});

test("far from 0, GELU is 0 or x", () => {
  const { of } = activationOf("gelu");
  assert.ok(Math.abs(of?.(-9) ?? 1) < 1e-9);
  assert.equal(of?.(9), 9);
});

test("only ReLU sets what is not above 0 to exactly 0", () => {
  assert.deepEqual(
    Object.keys(TORCH).filter((name) => activationOf(name).silences),
    ["relu"],
  );
});

test("an activation without a formula has its name, and a step of the general kind", () => {
  assert.deepEqual(activationOf("xielu"), { name: "xielu", of: null, silences: false });
  assert.equal(activationStep(/** @type {any} */ ({ activation: "xielu" })), "activation");
  for (const activation of Object.keys(TORCH))
    assert.equal(activationStep(/** @type {any} */ ({ activation })), activation);
});
