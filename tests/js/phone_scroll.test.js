/** What a phone scrolls to after an edit. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { addedIn, squareEdited } from "../../static/shell/path.js";

/** @param {string} attention @param {number} layer @param {number} head @returns {any} */
const off = (attention, layer, head) => ({ kind: "ablate", where: { attention, layer, role: "z", head } });

test("an edit that is added is scrolled to, in its own attention; one that is taken back, or another beside it, is not", () => {
  const [first, cross] = [off("self", 0, 0), off("cross", 1, 3)];
  const squares = /** @type {any} */ (
    ["encoder", "self", "cross"].map((attention) => ({ attention, layer: 1, head: 3 }))
  );
  const added = addedIn([first, cross], [first]);
  assert.equal(added, cross.where);
  assert.equal(squareEdited(squares, cross.where), squares[2]);
  assert.equal(addedIn([first], [first, cross]), null);
  assert.equal(addedIn([cross], [first]), null);
  assert.equal(squareEdited(squares, first.where), undefined);
});
