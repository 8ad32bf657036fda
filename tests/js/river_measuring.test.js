/** The river's numbers that come later: effects, one question at a time, and what the model would say after each layer. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { edgeKey } from "../../static/model/interventions.js";
import { nextSoFar } from "../../static/river/facts.js";
import { actionsOf } from "../../static/river/input/actions.js";
import { listen, pick } from "../../static/river/input/events.js";
import { createKnockoutMeasuring } from "../../static/river/knockout_effects.js";
import { testWith } from "./words.js";

globalThis.document ??= /** @type {any} */ ({ documentElement: { lang: "en", dataset: {} } });

const EDGE = { attention: "self", layer: 1, query: 1, key: 0 };

/** A server that answers each request with these events; what was asked of it, and whether it was given up. @param {(request: any) => [string, object][]} answer */
function server(answer) {
  /** @type {{request: any, signal: AbortSignal}[]} */
  const asked = [];
  globalThis.fetch = /** @type {any} */ (
    async (/** @type {string} */ path, /** @type {any} */ { body, signal }) => {
      assert.equal(path, "api/explain/effects");
      const request = JSON.parse(body);
      asked.push({ request, signal });
      const events = answer(request).map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      return new Response(events.join(""));
    }
  );
  return asked;
}

/** @param {any} request @returns {[string, object][]} */
const measuredBy = ({ edges, answer = 7 }) => [
  ["start", { answer, p: edges ? 0.1 : 0.9, edges: 1 }],
  ...(edges ? [] : [/** @type {[string, object]} */ (["effect", { ...EDGE, p: 0.45, delta: Math.log(0.5) }])]),
  ["done", {}],
];

/** Everything that is measured of one question. @param {object} request */
function whole(request) {
  return new Promise((resolve) => {
    const measuring = createKnockoutMeasuring(() => measured.deciding && resolve({ measured, measuring }));
    const measured = measuring.of(
      request,
      (effects) => [...effects.values()],
      (edges) => ({ ...request, cut: edges.length }),
    );
  });
}

test("the effects of a question, then the answer without the edges that decide", async () => {
  const asked = server(measuredBy);
  const { measured } = await whole({ text: "a b" });
  assert.equal(measured.start.p, 0.9);
  assert.equal(measured.effects.get("self 1 1 0").p, 0.45);
  assert.equal(measured.deciding.p, 0.1);
  assert.deepEqual(
    asked.map(({ request }) => request),
    [{ text: "a b" }, { text: "a b", cut: 1, answer: 7, edges: [] }],
  );
});

test("of a large input nothing is measured before it is asked for", async () => {
  const asked = server(measuredBy);
  const question = { text: "a long text" };
  let changed = () => {};
  const measuring = createKnockoutMeasuring(() => changed());
  const done = new Promise((resolve) => {
    changed = () => measured.deciding && resolve(null);
  });
  /** @type {[object, any, any, {waits: boolean}]} */
  const of = [question, (/** @type {any} */ effects) => [...effects.values()], () => question, { waits: true }];
  const measured = measuring.of(...of);
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.deepEqual([asked.length, measured.idle], [0, true]);
  assert.equal(measuring.of(...of), measured, "the same question");
  measuring.begin();
  await done;
  assert.deepEqual([asked.length, measured.idle], [2, false]);
});

test("an edge that is not among the widest is measured when it is wished for, once", async () => {
  const thin = { attention: "self", layer: 0, query: 2, key: 1 };
  const asked = server((request) =>
    request.edges?.length
      ? [
          ["start", { answer: 7, p: 0.9, edges: 1 }],
          ["effect", { ...thin, p: 0.8, delta: -0.1 }],
          ["done", {}],
        ]
      : measuredBy(request),
  );
  /** @type {any} */
  let measuring;
  const found = await new Promise((resolve) => {
    measuring = createKnockoutMeasuring(() => {
      if (known.effects.has("self 0 2 1")) resolve(known);
      else if (known.deciding) measuring.also([{ ...thin, width: 3 }]);
    });
    const known = measuring.of(
      { text: "a b" },
      (/** @type {any} */ effects) => [...effects.values()],
      () => ({ text: "cut" }),
    );
  });
  assert.equal(found.effects.get("self 0 2 1").p, 0.8);
  assert.deepEqual(asked[2].request, { text: "a b", answer: 7, edges: [thin] });
  measuring.also([thin]);
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.equal(asked.length, 3, "it is known");
});

test("an edge that is wished for while the widest are measured is measured after them", async () => {
  const thin = { attention: "self", layer: 0, query: 2, key: 1 };
  let came = () => {};
  const wished = new Promise((resolve) => {
    came = () => resolve(null);
  });
  server((request) => {
    if (request.edges?.length) came();
    return measuredBy(request);
  });
  const measuring = createKnockoutMeasuring(() => {});
  measuring.of(
    { text: "a b" },
    () => [],
    () => ({}),
  );
  measuring.also([thin]);
  await wished;
});

test("an edge is wished for in its own question only", async () => {
  const thin = { attention: "self", layer: 0, query: 2, key: 1 };
  const asked = server(measuredBy);
  const { measuring } = await whole({ text: "a b" });
  /** @type {(text: string) => any} */
  const ask = (text) =>
    measuring.of(
      { text },
      () => [],
      () => ({}),
    );
  const settled = () => new Promise((resolve) => setTimeout(resolve, 450));
  measuring.also([thin]); // it rests on the line for a moment
  ask("other");
  measuring.also([thin]); // while its widest are measured
  ask("newer");
  await settled();
  measuring.also([thin]);
  measuring.stop();
  ask("after a stop");
  await settled();
  assert.deepEqual(
    asked.map(({ request }) => request.text),
    ["a b", "a b", "newer", "after a stop"],
  );
  assert.ok(asked.every(({ request }) => !request.edges?.length));
});

test("what is known is not asked again", async () => {
  const asked = server(measuredBy);
  const { measured, measuring } = await whole({ text: "a b" });
  const again = measuring.of(
    { text: "a b" },
    () => [],
    () => ({}),
  );
  assert.equal(again, measured);
  assert.equal(asked.length, 2);
});

test("a newer question takes the place of one that waits", async () => {
  /** @type {(request: any) => void} */
  let came = () => {};
  const newest = new Promise((resolve) => {
    came = ({ text }) => text === "newer" && resolve(text);
  });
  const asked = server((request) => {
    came(request);
    return measuredBy(request);
  });
  const measuring = createKnockoutMeasuring(() => {});
  for (const text of ["older", "newer"]) {
    measuring.of(
      { text },
      () => [],
      () => ({}),
    );
  }
  await newest;
  measuring.stop();
  assert.deepEqual(
    asked.map(({ request }) => request.text),
    ["newer"],
  );
});

test("after each layer the lens has an answer; a new one is fresh, the last one final", () => {
  const { decoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
  const layers = decoder.description.stacks[0].layers.length;
  const ids = [1, 1, ...new Array(layers - 1).fill(2)];
  const lens = {
    rows: [0, 3],
    top: ids.map((id) => [[9], [id]]),
    probability: ids.map((_, depth) => [[0], [depth / 10]]),
    tokens: { 1: { text: "one" }, 2: { text: "two" } },
  };
  const next = nextSoFar(/** @type {any} */ ({ explained: { lens }, model: decoder, classes: null }), 3);
  assert.deepEqual(
    next.map(({ answer, fresh, final }) => [answer.id, answer.p, fresh, final]),
    ids.slice(1).map((id, layer) => [id, (layer + 1) / 10, layer === 1, id === 2]),
  );
  assert.deepEqual(nextSoFar(/** @type {any} */ ({ explained: {}, model: decoder, classes: null }), 3), []);
  assert.deepEqual(
    nextSoFar(/** @type {any} */ ({ explained: { lens }, model: decoder, classes: null }), 1),
    [],
    "a PAD's row has none",
  );
});

/** What the listeners need of an element. */
class Part extends EventTarget {
  childNodes = [];
  hidden = false;
  dataset = {};
  style = { setProperty() {} };
  classList = { toggle() {} };
  getAttribute = () => null;
  getBoundingClientRect = () => ({ bottom: 0, height: 0 });
  setAttribute() {}
  removeAttribute() {}
  replaceChildren() {}
  focus() {}
}

test("a chosen line is measured until it is let go, wherever the pointer is", () => {
  const lines = [20, 60].map((y) => ({ x0: 0, x1: 100, y0: y, y1: y, width: 4, shown: true }));
  const bands = [{ stack: "decoder", columns: [{ x0: 0, x1: 100 }], rows: [], titles: -100, index: [0], chosen: 0 }];
  const scene = { beads: [], links: [], squares: [], ghosts: [], lines, bands, width: 400, height: 400 };
  const parts = /** @type {any} */ (
    Object.fromEntries(["canvas", "tip", "tipWords", "scissors", "eye", "readout"].map((name) => [name, new Part()]))
  );
  parts.acts = { hide: new Part(), hideInHead: new Part(), hideInHeads: new Part(), open: new Part() };
  /** @type {[number, boolean][]} */
  const measured = [];
  const actions = {
    ...{ knockOut() {}, tell: () => [], offers: () => null, chooses: () => false },
    measure: (/** @type {any} */ line, picked = false) => measured.push([lines.indexOf(line), picked]),
  };
  const board = /** @type {any} */ ({ scene, actions, hovered: null, picked: null, pickedAt: {}, pointer: {} });
  listen(parts, board, { repaint() {}, choose() {} });
  const said = (/** @type {string} */ type, /** @type {object} */ at) => {
    measured.length = 0;
    parts.canvas.dispatchEvent(Object.assign(new Event(type, { cancelable: true }), at));
    return measured;
  };
  const at = (/** @type {number} */ offsetY) => ({ offsetX: 50, offsetY });
  assert.deepEqual(said("pointermove", at(20)), [[0, false]]);
  assert.deepEqual(said("click", at(20)), [[0, true]]);
  assert.deepEqual(said("pointermove", at(200)), [], "beside it");
  assert.deepEqual(said("pointermove", at(60)), [], "on another");
  assert.deepEqual(said("keydown", { key: "Escape" }), [[1, false]], "let go: the one pointed at");
  said("click", at(20));
  assert.deepEqual(said("pointerleave", {}), []);
  measured.length = 0;
  pick(parts, board, null); // as when another text is shown
  assert.deepEqual(measured, [[-1, false]]);
});

testWith(JSON.parse(readFileSync(new URL("../../static/i18n/en.json", import.meta.url), "utf8")))(
  "a line is hidden in a head where its layer has others, and opened in an only one, too",
  () => {
    const { decoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
    /** @param {number} n_head @returns {any} */
    const offers = (n_head) => {
      const heads = Array.from({ length: n_head }, (_, head) => ({ ...EDGE, head, p: 0.5 + head / 10 }));
      const effects = new Map(heads.map((one) => [edgeKey(one), one]));
      const trace = {
        model: decoder,
        attentions: [{ id: "self", n_head, roles: { z: { dims: "head query d_head" } } }],
      };
      const river = { stack: "main", side: "target" };
      const facts = {
        rolled: [{ river }],
        knockouts: [],
        answers: [],
        canKnockOut: true,
        measured: { start: { p: 0.9 }, effects },
      };
      const now = /** @type {any} */ ({ trace, actions: { get: () => ({ lesson: "" }) } });
      const page = /** @type {any} */ ({ measuring: { together: () => null } });
      return actionsOf(() => now, /** @type {any} */ ({ isSaved: true, ...facts }), page).offers(
        /** @type {any} */ ({ ...EDGE, to: 0 }),
      );
    };
    const [several, one] = [offers(2), offers(1)];
    assert.match(several.hideInHead, /^Hide in head 1·0 → 50\s%$/);
    assert.equal(several.open, "Open head 1·0");
    assert.deepEqual([one.hide, one.hideInHead, one.open], ["Hide in layer 1", "", "Open head 1·0"]);
  },
);
