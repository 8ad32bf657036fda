/** A server that takes a request and hangs is distinguished from one that works on something long. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, trace } from "../../static/data/api.js";

const never = () => new Promise(() => {});

test("an answer is passed on, and so is an error", async () => {
  assert.equal(await answered(Promise.resolve(3)), 3);
  await assert.rejects(answered(Promise.reject(new TypeError("cut off"))), /cut off/);
});

test("without an answer the server is asked whether it is there, and given up if it is not", async () => {
  let asked = 0;
  const isThere = async () => {
    asked++;
    return asked < 3; // it works, works, hangs
  };
  await assert.rejects(answered(never(), { isThere, patience: 1 }), /no answer/);
  assert.equal(asked, 3);
});

test("a server that works on something long is waited for", async () => {
  let asked = 0;
  /** @type {(value: string) => void} */
  let say = () => {};
  const isThere = async () => {
    if (++asked === 3) say("at last");
    return true;
  };
  const answer = new Promise((resolve) => {
    say = resolve;
  });
  assert.equal(await answered(answer, { isThere, patience: 1 }), "at last");
  assert.equal(asked, 3);
});

test("a broken connection in the middle of an answer is a server that does not answer", async () => {
  const broken = new ReadableStream({ start: (controller) => controller.error(new TypeError("cut off")) });
  let cancelled = /** @type {AbortSignal|undefined} */ (undefined);
  globalThis.fetch = async (_, options) => {
    cancelled = options?.signal ?? undefined;
    return new Response(broken, { status: 200 });
  };
  await assert.rejects(trace({}), { code: "unreachable" });
  assert.equal(cancelled?.aborted, true, "nothing more of it is received");
});

test("what is cancelled is not reported as a server that does not answer", async () => {
  const controller = new AbortController();
  globalThis.fetch = (_, options) => {
    const signal = /** @type {AbortSignal} */ (options?.signal);
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const asked = trace({}, { signal: controller.signal });
  controller.abort();
  await assert.rejects(asked, { name: "AbortError" });
});
