/** What a view needs is fetched in its turn, once, and only where it is not here already. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createLoader } from "../../static/data/loader.js";
import { DEFAULTS } from "../../static/state/store.js";

const { decoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const model = { name: "tiny", ...decoder };
const state = { ...DEFAULTS, model: "tiny", text: "Hi you", query: 1, key: 0 };
const token = (/** @type {number} */ index) => ({ index, id: index, text: "x", bytes: "78" });

/** A loader whose requests are only noted. @param {number} pool @param {number} [ms]  how long a head's numbers take */
function noting(pool, ms = 0) {
  const asked = /** @type {string[]} */ ([]);
  const meta = { model: "tiny", tokens: [token(0), token(1)], position_ids: [0, 1], masks: { causal: true }, pool };
  const traces = new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === "knownAblations") return () => null;
        return async (/** @type {unknown[]} */ ...more) => {
          asked.push(name === "explain" ? `explain:${more.at(-1)}` : String(name));
          if (name === "detail" && ms) await new Promise((done) => setTimeout(done, ms));
          return name === "overview" ? { meta, tensors: {} } : {};
        };
      },
    },
  );
  const loader = createLoader(/** @type {any} */ (traces), {
    modelNamed: () => model,
    bring: async () => {},
    onWait: () => {},
  });
  return { asked, loader };
}

test("a prefetch asks for no weights that are here already", async () => {
  const short = noting(1);
  await short.loader.soon(state, ["detail", "head_rows", "tensor:layers.0.attn.z"]);
  assert.deepEqual(short.asked, ["overview", "detail", "tensors"]);
  const long = noting(4);
  await long.loader.soon(state, ["head_rows"]);
  assert.deepEqual(long.asked, ["overview", "headRows"]);
});

test("a prefetch brings neither explanations nor code", async () => {
  const { asked, loader } = noting(4);
  await loader.soon(state, ["explain:route", "explain:changes", "code:av", "heads"]);
  assert.deepEqual(asked, ["overview", "heads"]);
});

test("a need that nothing meets is a mistake", async () => {
  const { loader } = noting(1);
  await assert.rejects(loader.soon(state, ["change"]), /change/);
});

test("the largest answers come one after the other, after all that the open head needs", async () => {
  const { asked, loader } = noting(4);
  const needs = new Set(["explain:changes", "explain:route", "heads", "head_rows"]);
  await loader.load(state, needs, () => {});
  assert.equal(asked[0], "overview");
  assert.equal(asked[1], "heads");
  assert.deepEqual(asked.slice(2), ["explain:route", "headRows", "explain:changes"]);
});

test("another text cancels what takes long for the one before, and another place in the same text does not", async () => {
  const { asked, loader } = noting(4);
  await loader.load(state, new Set(["heads"]), () => {});
  await loader.load({ ...state, layer: 1 }, new Set(["heads"]), () => {});
  assert.equal(asked.includes("abandon"), false);
  await loader.load({ ...state, text: "Hi me" }, new Set(["heads"]), () => {});
  assert.equal(asked.filter((one) => one === "abandon").length, 1);
});

test("another head's picture is drawn before everything else; while the camera moves, what is known of it at once", async () => {
  const { loader } = noting(1, 10);
  let drawn = /** @type {string[]} */ ([]);
  const draw = (/** @type {any} */ _, /** @type {Set<string>} */ available, alone = "") =>
    void drawn.push([alone || "all", ...available].join(" "));
  /** @param {Partial<typeof state>} change @param {string[]} needs @param {boolean} [moves] */
  const load = async (change, needs, moves) => {
    drawn = [];
    await loader.load({ ...state, view: "attention", ...change }, new Set(needs), draw, moves);
    return drawn;
  };
  assert.deepEqual(await load({}, []), ["all"]);
  assert.deepEqual(await load({}, ["detail"]), ["place detail", "all detail"], "the first head");
  assert.deepEqual(await load({ head: 1 }, ["detail"]), ["picture detail", "all detail"]);
  assert.deepEqual(await load({ head: 1, key: 1 }, ["detail"]), ["all detail"], "another cell of it");
  assert.deepEqual(await load({ head: 0, view: "av" }, ["detail"]), ["all detail"], "and another view");
  assert.deepEqual(await load({ head: 1, view: "av", quiz: true }, ["detail"]), ["all detail"], "a quiz covers it");
  assert.deepEqual(await load({ head: 0 }, ["detail"], true), ["all", "all detail"]);
  assert.deepEqual(await load({ causal: false }, ["detail"]), ["picture detail", "all detail"], "another mask");
  const interventions = /** @type {any} */ ([{ kind: "ablate", where: { layer: 0, head: 1 }, mode: "zero" }]);
  assert.deepEqual(await load({ interventions }, ["detail"]), ["all", "all detail"], "another answer comes first");
});

test("what cannot be drawn yet by itself is tried again when more of it has come", async () => {
  const { loader } = noting(1);
  const tries = /** @type {string[]} */ ([]);
  const draw = (/** @type {any} */ _, /** @type {Set<string>} */ available, alone = "") => {
    if (alone) tries.push([...available].join(" "));
    return available.has("heads");
  };
  await loader.load(state, new Set(["detail", "heads"]), draw);
  await loader.load({ ...state, causal: false }, new Set(["detail", "heads"]), draw);
  assert.deepEqual(tries, ["detail", "detail heads"]);
});

test("what is known of another head does not wait long for its numbers", async () => {
  const { loader } = noting(1, 120);
  let drawn = 0;
  await loader.load(state, new Set(), () => {});
  await loader.load({ ...state, head: 1 }, new Set(["detail"]), () => void drawn++);
  assert.equal(drawn, 2);
});

test("a page that cannot draw the first head by itself draws it once, with everything else", async () => {
  const { loader } = noting(1, 10);
  let drawn = 0;
  await loader.load(state, new Set(), () => {});
  await loader.load(state, new Set(["detail"]), (_, __, alone) => (alone ? false : void drawn++));
  assert.equal(drawn, 1);
});

test("what heads do for the answer is asked for once the reader pauses, and at once where they are ranked", async () => {
  const { asked, loader } = noting(1);
  /** @param {string} need */
  const load = (need, text = "Hi you") => loader.load({ ...state, text }, new Set([need]), () => {});
  const times = () => asked.filter((name) => name === "ablations").length;
  await load("ablations:quiet");
  await load("ablations:quiet", "Hi there");
  assert.equal(times(), 0);
  await new Promise((done) => setTimeout(done, 1400));
  assert.equal(times(), 1, "of the newest alone");
  await load("ablations", "Hi there");
  assert.equal(times(), 2);
});
