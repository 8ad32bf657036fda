/** Bars from a zero line. When a page is drawn, sizes are read once, after all that depends on none; text on a canvas is painted last. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { barOf, guarded, measured, painted, together } from "../../static/ui/dom.js";

test("sizes are read together, then written, then canvases are painted once each", () => {
  const done = /** @type {string[]} */ ([]);
  const note = (/** @type {string} */ what) => void done.push(what);
  const paint = () => note("paint");
  together(() => {
    measured(
      () => note("read a"),
      () => note("write a"),
    );
    painted(paint);
    measured(
      () => note("read b"),
      () => painted(paint),
    );
    note("draw");
  });
  assert.deepEqual(done, ["draw", "read a", "read b", "write a", "paint"]);
  painted(paint);
  assert.equal(done.length, 6);
});

test("a mistake of a painting is that of the view that asked for it", () => {
  const caught = /** @type {unknown[]} */ ([]);
  const by = (/** @type {() => void} */ draw) => {
    try {
      draw();
    } catch (error) {
      caught.push(error);
    }
  };
  together(() =>
    guarded(by, () =>
      painted(() => {
        throw new Error("a");
      }),
    ),
  );
  assert.equal(caught.length, 1);
});

test("a negative number's bar points left from the zero line that all share", () => {
  const values = [3, -1, 0.5];
  assert.deepEqual(barOf(3, values), { zero: 0.25, from: 0.25, share: 0.75 });
  assert.deepEqual(barOf(-1, values), { zero: 0.25, from: 0, share: 0.25 });
  assert.deepEqual(barOf(-2, [-4, -2]), { zero: 1, from: 0.5, share: 0.5 });
  assert.deepEqual(barOf(2, [4, 2]), { zero: 0, from: 0, share: 0.5 });
  assert.deepEqual(barOf(0, [0]), { zero: 0, from: 0, share: 0 });
});
