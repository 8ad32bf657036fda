/** Shares multiplied back through the layers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { rollout } from "../../static/model/contribution_rollout.js";

test("shares are multiplied back through the layers", () => {
  // Layer 0: token 1 takes a quarter of itself from 0; layer 1: token 0 takes half of itself from 1.
  const share = Float32Array.from([1, 0, 0.25, 0.75, 0.5, 0.5, 0, 1]);
  const flow = { attention: "self", keys: "source", nQuery: 2, nKey: 2, share };
  const river = /** @type {any} */ ({ stack: "main", side: "source", layers: 2, tokens: 2, flows: [flow] });
  const [{ at }] = rollout([river], "main", 0);
  assert.deepEqual(
    at.map((one) => [...one]),
    [
      [0.625, 0.375],
      [0.5, 0.5],
      [1, 0],
    ],
  );
});
