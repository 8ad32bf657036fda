/** How often the controls of a page are drawn: once for each change of the state, and of the trace. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../../static/data/request.js";
import { refresh } from "../../static/page.js";
import { DEFAULTS } from "../../static/state/store.js";

const state = { ...DEFAULTS, model: "tiny", text: "Hi you", query: 1, key: 0 };

/**
 * What the controls are drawn with, in a page that shows `state`, while another one is loaded.
 * @param {Partial<typeof state>} change @param {boolean[]} arrivals  whether a panel can be drawn with each
 * @param {boolean} [here]  whether its answer is here
 */
async function drawn(change, arrivals, here = false) {
  const [following, drawing] = [/** @type {any[]} */ ([]), /** @type {string[]} */ ([])];
  const next = { ...state, ...change };
  const [before, now] = [{ key: keyOf(state) }, { key: keyOf(next) }];
  let due = false;
  const page = {
    loader: {
      cancel() {},
      knows: () => here,
      load: async (/** @type {any} */ _, /** @type {any} */ __, /** @type {Function} */ onTrace) => {
        for (due of arrivals) onTrace(now, new Set());
        return true;
      },
    },
    panels: {
      arrange() {},
      busy() {},
      draw() {},
      rehearse() {},
      load: async () => {},
      needs: () => new Set(),
      isDue: () => due,
    },
    status: { show() {} },
    onTrace() {},
    trace: before,
    controls: {
      follow: (/** @type {any} */ shown) => following.push(shown),
      draw: (/** @type {any} */ trace) => drawing.push(trace === before ? "before" : trace === now ? "now" : "none"),
    },
  };
  await refresh(/** @type {any} */ (page), next);
  assert.deepEqual(following, [next]);
  return drawing;
}

test("another choice in the same sentence draws each control once", async () => {
  assert.deepEqual(await drawn({ query: 0 }, [true]), ["now"]);
});

test("another sentence marks the trace before, and draws its own once", async () => {
  assert.deepEqual(await drawn({ text: "Hi there" }, [true]), ["before", "now"]);
});

test("a run whose answer is here, as after an undo, draws each control once", async () => {
  assert.deepEqual(await drawn({ text: "Hi there" }, [true], true), ["now"]);
});

test("what arrives later draws them again only where a panel is drawn with it", async () => {
  assert.deepEqual(await drawn({ query: 0 }, [false, false, true]), ["now", "now"]);
});

test("without a sentence they are drawn once", async () => {
  assert.deepEqual(await drawn({ text: "" }, []), ["none"]);
});
