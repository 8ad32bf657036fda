/** An opened trace file as a source of traces. Loaded when the first file is opened. */

import { createFileTraces } from "./file_traces.js";
import { createNames } from "./token_names.js";
import { readTraceFile } from "./trace_file.js";

/**
 * @import { FileError } from "./file_error.js"
 * @import { Models } from "./models.js"
 */

/**
 * @param {ArrayBuffer} buffer @param {{key: string, name: string}} file
 * @param {{trace: typeof import("./api.js").trace}} api
 * @param {Pick<Models, "known">} models
 * @throws {FileError}
 */
export function openedFile(buffer, { key, name }, api, models) {
  const decoded = readTraceFile(buffer, models.known);
  const { meta } = decoded;
  const same = models.known(meta.model);
  const { shape = [] } = decoded.tensors[meta.description.logits.tap] ?? {};
  const known = same && same.vocab_size === (shape[1] ?? same.vocab_size) ? same : undefined;
  const traces = createFileTraces(decoded, { key, name, known, namesOf: createNames(api, meta, known) });
  return { key, meta, traces };
}
