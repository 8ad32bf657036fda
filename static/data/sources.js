/**
 * The sources of traces: the server, or an opened file, which `state.file` names. Callers do not see the difference.
 */

import { lazy } from "./lazily.js";

/**
 * @import { State } from "../state/store.js"
 * @import { FileError } from "./file_error.js"
 * @import { Models } from "./models.js"
 */

const reading = lazy(() => import("./file_traces.js"));

/**
 * @template {Object<string, any>} Live
 * @param {Live} live  traces.js: every function takes the state first
 * @param {{trace: typeof import("./api.js").trace}} api
 * @param {Pick<Models, "named"|"known">} models
 */
export function createSources(live, api, models) {
  let count = 0;
  /** @type {ReturnType<typeof import("./file_traces.js").openedFile>|null} */
  let opened = null;
  /** @param {Pick<State, "file">} state */
  const fileOf = (state) => (opened && state.file === opened.key ? opened.traces : null);
  const asked = Object.keys(live).map((name) => [
    name,
    (/** @type {State} */ state, /** @type {unknown[]} */ ...more) => {
      /** @type {Record<string, any>} */
      const source = fileOf(state) ?? live;
      if (!source[name]) throw new Error(`a saved trace has no "${name}"`); // `lacks` says so before the request
      return source[name](state, ...more);
    },
  ]);

  return {
    .../** @type {Live} */ (Object.fromEntries(asked)),

    /** The model of what is shown. @param {State} state */
    model: (state) => fileOf(state)?.model ?? models.named(state.model),

    /**
     * Reads a file and forgets the previous one.
     * @param {ArrayBuffer} buffer @param {string} name @throws {FileError}
     */
    async open(buffer, name) {
      await reading.load();
      const key = JSON.stringify({ file: name, opened: ++count });
      const { openedFile } = /** @type {NonNullable<typeof reading.code>} */ (reading.code);
      opened = openedFile(buffer, { key, name }, api, models);
      return { key, meta: opened.meta, model: opened.traces.model };
    },
  };
}
