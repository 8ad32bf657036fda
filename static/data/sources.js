/**
 * The sources of traces: the server, or an opened file, which `state.file` names. Callers do not see the difference.
 */

import { lazy } from "./lazily.js";

const reading = lazy(() => import("./opened_file.js"));

/**
 * @template {Object<string, any>} Live
 * @param {Live} live  traces.js: every function takes the state first
 * @param {{trace: typeof import("./api.js").trace}} api
 * @param {Pick<import("./models.js").Models, "named"|"known">} models
 */
export function createSources(live, api, models) {
  let count = 0;
  /** @type {ReturnType<typeof import("./opened_file.js").openedFile>|null} */
  let opened = null;
  /** @param {Pick<import("../state/store.js").State, "file">} state */
  const fileOf = (state) => (opened && state.file === opened.key ? opened.traces : null);
  const asked = Object.keys(live).map((name) => [
    name,
    (/** @type {import("../state/store.js").State} */ state, /** @type {unknown[]} */ ...more) => {
      /** @type {Record<string, any>} */
      const source = fileOf(state) ?? live;
      if (!source[name]) throw new Error(`a saved trace has no "${name}"`); // `lacks` says so before the request
      return source[name](state, ...more);
    },
  ]);

  return {
    .../** @type {Live} */ (Object.fromEntries(asked)),

    /** The model of what is shown. @param {import("../state/store.js").State} state */
    model: (state) => fileOf(state)?.model ?? models.named(state.model),

    /**
     * Reads a file and forgets the previous one.
     * @param {ArrayBuffer} buffer @param {string} name @throws {import("./file_error.js").FileError}
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
