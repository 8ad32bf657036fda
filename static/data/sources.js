/**
 * The sources of traces: the server, or an opened file, which `state.file` names. Callers do not see the difference.
 */

import { createFileTraces } from "./file_traces.js";
import { createNames } from "./token_names.js";
import { readTraceFile } from "./trace_file.js";

/**
 * @template {Object<string, any>} Live
 * @param {Live} live  traces.js: every function takes the state first
 * @param {{trace: typeof import("./api.js").trace}} api
 * @param {Pick<import("./models.js").Models, "named"|"known">} models
 */
export function createSources(live, api, models) {
  let count = 0;
  /** @type {{key: string, traces: ReturnType<typeof createFileTraces>}|null} */
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
     * @param {ArrayBuffer} buffer @param {string} name @throws {import("./trace_file.js").FileError}
     */
    open(buffer, name) {
      const decoded = readTraceFile(buffer, models.known);
      const { meta } = decoded;
      const same = models.known(meta.model);
      const { shape = [] } = decoded.tensors[meta.description.logits.tap] ?? {};
      const known = same && same.vocab_size === (shape[1] ?? same.vocab_size) ? same : undefined;
      const key = JSON.stringify({ file: name, opened: ++count });
      const traces = createFileTraces(decoded, { key, name, known, namesOf: createNames(api, meta, known) });
      opened = { key, traces };
      return { key, meta, model: traces.model };
    },
  };
}
