/** A generation whose stream breaks goes on from the tokens it has. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { showingIds } from "../../static/model/written.js";
import { DEFAULTS } from "../../static/state/store.js";
import { takenBy } from "../../static/views/generation/draw_bar.js";
import { createGenerationPlayer } from "../../static/views/generation/player.js";

const { decoder } = JSON.parse(readFileSync(new URL("descriptions.json", import.meta.url), "utf8"));
const MODEL = { ...decoder, name: "model", max_seq_len: 64, special: {}, never_sampled: [] };
const PROMPT = [1, 2, 3];

/** The token after these ids, as a model with a fixed seed has it. @param {number[]} ids */
const next = (ids) => (7 * (ids.at(-1) ?? 0) + ids.length) % 50;

/**
 * A server whose streams break: one number for each request, of the tokens before that; -1: it refuses the connection.
 * @param {number[]} breaks  after these, streams are whole
 * @param {string} [last]  what a broken stream says last
 */
function server(breaks, last = "") {
  /** @type {any[]} */
  const asked = [];
  globalThis.fetch = async (/** @type {any} */ path, /** @type {any} */ options) => {
    if (path !== "api/generate") return new Response("{}");
    const request = JSON.parse(options.body);
    const upTo = asked.length < breaks.length ? breaks[asked.length] : request.max_new_tokens;
    asked.push({ ...request, session: options.headers["x-session-id"] });
    if (upTo < 0) throw new TypeError("fetch failed");
    return new Response(stream(request, upTo, last));
  };
  return asked;
}

/** @param {any} request @param {number} upTo @param {string} last */
function stream({ token_ids, max_new_tokens, begin = "", n_written: written = 0 }, upTo, last) {
  const said = [`event: start\ndata: {"prediction": {}}\n\n`];
  const ids = [...token_ids];
  for (let n = 0; n < upTo; n++) {
    const forced = begin.charCodeAt(written + n); // each character is a token
    ids.push(forced || next(ids));
    said.push(`event: step\ndata: {"token": {"id": ${ids.at(-1)}}, "u": ${forced ? null : 0.5}, "prediction": {}}\n\n`);
  }
  if (upTo === max_new_tokens) said.push(`event: end\ndata: {"reason": "max_new_tokens"}\n\n`);
  else said.push(last);
  const parts = said.values();
  return new ReadableStream({
    pull(controller) {
      const { value, done } = parts.next();
      if (!done) controller.enqueue(new TextEncoder().encode(value));
      else if (upTo === max_new_tokens || last) controller.close();
      else controller.error(new TypeError("network error"));
    },
  });
}

/** A page with a prompt. @param {number} length  of one Play */
function page(length, pace = "fast") {
  const path = { model: "model", text: "", ids: PROMPT, nPrompt: PROMPT.length };
  /** @type {any} */
  let state = { ...DEFAULTS, model: "model", ids: PROMPT, viewState: { generation: { length, pace } } };
  /** @type {any} */
  const session = {
    path: () => path,
    from: () => path,
    model: () => MODEL,
    word: (/** @type {number} */ id) => ({ id, text: `${id}`, special: false }),
    blocked: () => null,
    advance(/** @type {any} */ _, /** @type {any} */ { token }) {
      path.ids = [...path.ids, token.id];
      state = { ...state, ...showingIds(state, MODEL, path.ids, path.nPrompt) };
      return path.ids;
    },
  };
  /** @type {any[]} */
  const told = [];
  const player = createGenerationPlayer(session, {
    get: () => state,
    onChange: () => told.push(player.error),
    isDrawn: () => true,
  });
  return { player, path, told };
}

test("what is typed is written, also when the connection breaks, and nothing after it", async () => {
  for (const breaks of [[], [2, 1]]) {
    server(breaks);
    const { player, path } = page(8);
    await player.type("cats");
    assert.deepEqual(path.ids, [...PROMPT, ...[..." cats"].map((one) => one.charCodeAt(0))]);
    assert.deepEqual([player.doing, player.error], ["idle", null]);
    await player.step();
    assert.equal(path.ids.length, PROMPT.length + 6);
  }
});

test("a step's token is asked for while its number falls, and shown when it lies; fast play does not wait", async () => {
  const asked = server([]);
  for (const [doing, pace, falls] of /** @type {const} */ ([
    ["step", "fast", 1],
    ["play", "normal", 2],
    ["play", "fast", 0],
  ])) {
    const { player, path } = page(2, pace);
    const before = asked.length;
    /** @type {number[]} */
    const seen = [];
    player.land = async () => {
      while (asked.length === before) await new Promise((resolve) => setTimeout(resolve));
      await new Promise((resolve) => setTimeout(resolve, 20)); // its token has come meanwhile
      seen.push(path.ids.length);
    };
    await player[doing]();
    assert.deepEqual([seen, path.ids], [[3, 4].slice(0, falls), undisturbed(doing === "step" ? 1 : 2)]);
  }
});

/** @param {number} n */
function undisturbed(n) {
  const ids = [...PROMPT];
  while (ids.length < PROMPT.length + n) ids.push(next(ids));
  return ids;
}

test("what a number will take is named where it is not the likeliest", () => {
  /** @param {number} id @param {number} before @param {number} after */
  const one = (id, before, after) => /** @type {any} */ ({ id, before, after });
  // The likeliest first, as the model has them; after sampling [0, 0.6), [0.6, 0.9) and the rest, which was not sent.
  const from = { candidates: [one(5, 0.5, 0.6), one(3, 0.3, 0.3), one(4, 0.1, 0)] };
  assert.equal(takenBy(from, 0.59), null, "the likeliest");
  assert.equal(takenBy(from, 0.6)?.id, 3);
  assert.equal(takenBy(from, 0.95), null, "another, whose name is not here");
  const all = { candidates: [one(5, 0.5, 0.6), one(3, 0.3, 0.4)] };
  assert.equal(takenBy(all, 0.9999999)?.id, 3, "the last takes what rounding leaves");
});

test("it asks at once for the rest, from the ids it has, in the same session", async () => {
  const asked = server([3, 2]);
  const { player, path, told } = page(8);
  await player.play();
  assert.deepEqual(path.ids, undisturbed(8));
  assert.deepEqual(
    asked.map(({ token_ids, max_new_tokens }) => [token_ids.length, max_new_tokens]),
    [
      [3, 8],
      [6, 5],
      [8, 3],
    ],
  );
  assert.equal(new Set(asked.map(({ seed }) => seed)).size, 1);
  assert.equal(new Set(asked.map(({ session }) => session)).size, 1);
  assert.match(asked[0].session, /^[0-9a-f]{16}$/);
  assert.deepEqual([player.doing, player.error], ["idle", null]);
  assert.ok(told.every((error) => error === null)); // the reader need not know
});

test("a server that says that it stops is left in the same way", async () => {
  server([3], `event: error\ndata: {"error": {"code": "stopping", "message": ""}}\n\n`);
  const { player, path } = page(8);
  await player.play();
  assert.deepEqual(path.ids, undisturbed(8));
});

test("a stream that broke after its last token is complete", async () => {
  const asked = server([8]);
  const { player, path } = page(8);
  globalThis.fetch = ((answer) => async (/** @type {any} */ where, /** @type {any} */ options) => {
    const request = JSON.parse(options.body);
    return answer(where, { ...options, body: JSON.stringify({ ...request, max_new_tokens: 9 }) });
  })(globalThis.fetch);
  await player.play();
  assert.deepEqual(path.ids, undisturbed(8));
  assert.equal(asked.length, 1);
});

test("while nobody answers it waits and says so, then goes on", async () => {
  const asked = server([3, -1]);
  const { player, path, told } = page(8);
  await player.play();
  assert.deepEqual(path.ids, undisturbed(8));
  assert.equal(asked.length, 3);
  assert.ok(told.some((error) => error?.code === "unreachable"));
  assert.equal(player.error, null);
});

test("a server that was never there is reported at once", async () => {
  const asked = server([-1]);
  const { player, path } = page(8);
  await player.play();
  assert.deepEqual(path.ids, PROMPT);
  assert.equal(asked.length, 1);
  assert.equal(player.error?.code, "unreachable");
});
