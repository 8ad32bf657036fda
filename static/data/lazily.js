/**
 * Code that is loaded when it is first needed. A view says `...lazily(() => import("./draw.js"))` in place of its
 * `draw`: the page calls `load` with the requests for its numbers, and `draw` when both are here.
 */

import { ApiError } from "./api.js";

/**
 * A view's `draw`, from a separate module. If the server does not respond, `load` fails, so that the page waits for it. If
 * the module has an error, `draw` fails, and the error is shown in the view's place.
 * @template {(...args: any[]) => any} Draw
 * @param {() => Promise<{draw: Draw}>} bring
 * @returns {{load: () => Promise<void>, draw: Draw}}
 */
export function lazily(bring) {
  const module = lazy(bring);
  /** @type {unknown} */
  let mistake = new Error("not loaded");
  const draw = (/** @type {any[]} */ ...shown) => {
    if (!module.code) throw mistake;
    return module.code.draw(...shown);
  };
  const load = () =>
    module.load().catch((error) => {
      if (error instanceof ApiError) throw error;
      mistake = error;
    });
  return { load, draw: /** @type {Draw} */ (draw) };
}

/**
 * A module; `code` is null until `load` has brought it.
 * @template Code
 * @param {() => Promise<Code>} bring
 */
export function lazy(bring) {
  const module = {
    code: /** @type {Code|null} */ (null),
    async load() {
      module.code ??= await bring().catch(explain);
    },
  };
  return module;
}

/**
 * Calls `run` once and keeps its promise; after a failure, the next call runs it again.
 * @template T
 * @param {() => Promise<T>} run
 * @returns {() => Promise<T>}
 */
export function once(run) {
  /** @type {Promise<T>|null} */
  let asked = null;
  return () => {
    asked ??= run().catch((error) => {
      asked = null;
      throw error;
    });
    return asked;
  };
}

/**
 * To a browser, a server that does not respond and an error in a file look the same: only the server can say which it is.
 * @param {unknown} error
 * @returns {Promise<never>}
 */
async function explain(error) {
  if (error instanceof ApiError) throw error;
  const answer = await fetch(import.meta.url, { method: "HEAD", cache: "no-store" }).catch(() => null);
  if (answer && answer.status < 502) throw error;
  throw new ApiError({ code: "unreachable", message: String(error) });
}
