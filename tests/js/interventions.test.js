/** What becomes of interventions when the PADs of their run change. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { withPads } from "../../static/model/interventions.js";
import { runOf, stateOf } from "../../static/state/run.js";

const SELF = /** @type {any} */ ({ id: "self", queries: "source", keys: "source" });

const PAD = { count: 2, side: "left" };

/** A patch in a run with two PADs on the left, after they are gone. @param {object} where @param {object} from */
function unpadded(where, from) {
  const patch = { kind: "patch", where: { layer: 0, ...where }, from };
  const run = runOf(stateOf(/** @type {any} */ ({ text: "a b", pad: PAD, interventions: [patch] })));
  return withPads(run, { ...run.pad, count: 0 }, [SELF]).interventions.map((one) => one.where);
}

for (const [name, role] of [
  ["query", "z"],
  ["key", "k"],
])
  test(`a patch of one ${name} moves with its token if the other run has the same PADs, and is left out otherwise`, () => {
    const same = { text: "c d", pad: PAD };
    assert.deepEqual(unpadded({ role, [name]: 3 }, same), [{ layer: 0, role, [name]: 1 }]);
    assert.deepEqual(unpadded({ role, [name]: 3 }, { text: "c d" }), [], "row t of it would replace row t here");
    assert.deepEqual(unpadded({ role }, { text: "c d" }), [{ layer: 0, role }], "all rows are still all rows");
  });
