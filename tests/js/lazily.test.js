/** Code that is loaded when it is first needed (static/data/lazily.js). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../static/data/api.js";
import { lazily, lazy, once } from "../../static/data/lazily.js";

/** What the server says when it is asked whether it is there. @param {number|null} status */
function server(status) {
  globalThis.fetch = async () => {
    if (status === null) throw new TypeError("no connection");
    return new Response(null, { status });
  };
}
const gone = () => Promise.reject(new TypeError("Failed to fetch dynamically imported module"));

test("a view's code is brought once, and draws with what it is given", async () => {
  let brought = 0;
  const view = lazily(async () => {
    brought++;
    return { draw: (/** @type {any[]} */ ...shown) => shown.join(" ") };
  });
  assert.equal(brought, 0);
  await view.load();
  await view.load();
  assert.equal(brought, 1);
  assert.equal(view.draw("root", "trace"), "root trace");
});

test("a server that is away fails the loading, as it fails a request, and another try may work", async () => {
  let bring = gone;
  const view = lazily(() => bring());
  server(null);
  await assert.rejects(view.load(), (error) => error instanceof ApiError && error.code === "unreachable");
  server(503); // a proxy's 502 or 504 too: the app behind it does not respond
  await assert.rejects(view.load(), { code: "unreachable" });
  bring = /** @type {any} */ (async () => ({ draw: () => "drawn" }));
  await view.load();
  assert.equal(/** @type {any} */ (view).draw(), "drawn");
});

test("an error in a view's module is shown where the view is drawn, and nowhere else", async () => {
  server(200);
  const view = lazily(() => Promise.reject(new SyntaxError("Unexpected token")));
  await view.load();
  assert.throws(() => /** @type {any} */ (view).draw(), { name: "SyntaxError", message: "Unexpected token" });
});

test("an error in a module that is not a view reaches the caller", async () => {
  server(200);
  const module = lazy(() => Promise.reject(new SyntaxError("Unexpected token")));
  await assert.rejects(module.load(), SyntaxError);
  assert.equal(module.code, null);
});

test("what is done once is not begun again while it is awaited, nor after it, but again after a failure", async () => {
  let runs = 0;
  const asked = once(async () => {
    runs++;
    if (runs === 1) throw new TypeError("no connection");
    return runs;
  });
  const first = [asked(), asked()];
  for (const one of first) await assert.rejects(one, TypeError);
  assert.equal(runs, 1);
  assert.deepEqual(await Promise.all([asked(), asked()]), [2, 2]);
  assert.equal(await asked(), 2);
});
