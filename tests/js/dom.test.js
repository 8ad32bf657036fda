/** When a page is drawn, sizes are read once, after all that depends on none; text on a canvas is painted last. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { guarded, measured, painted, together } from "../../static/ui/dom.js";

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
