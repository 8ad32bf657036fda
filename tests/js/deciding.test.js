/** Which look decides, and how a probability is written: as Python says it (tests/app/test_deciding_fixture.py). */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { riversOf } from "../../static/data/wire.js";
import { rollout } from "../../static/model/contribution_rollout.js";
import { edgeKey } from "../../static/model/interventions.js";
import { decidingEdges } from "../../static/river/knockout_effects.js";
import { briefPercent } from "../../static/ui/format.js";

const { cases, shares } = JSON.parse(readFileSync(new URL("deciding.json", import.meta.url), "utf8"));

for (const [name, { route, stack, row, effects, decided }] of Object.entries(cases))
  test(`the look that decides: ${name}`, () => {
    const [answering] = rollout(riversOf(route), stack, row);
    const known = new Map(effects.map((/** @type {any} */ one) => [edgeKey(one), one]));
    assert.deepEqual(decidingEdges(answering, row, known), decided);
  });

test("a probability is written alike", () => {
  for (const [p, text] of shares) assert.equal(briefPercent(p), text);
});
