/** Generation: a stream of steps. */

import * as api from "./api.js";
import { messages } from "./sse.js";

/**
 * Run a generation. `onEvent(name, data)` gets "start", "step" and "end"; in a step the `data` of
 * each attention's `rows` is a Uint8Array here.
 * Resolves with the "end" event's data, or null when the stream stopped without one. Aborting the signal closes the
 * connection and rejects with an AbortError; the server's own error is thrown as an `ApiError`.
 * @param {object} request
 * @param {{signal?: AbortSignal, onEvent: (name: "start"|"step"|"end", data: any) => void}} options
 */
export async function generate(request, { signal, onEvent }) {
  const answer = await api.generate(request, { signal });
  let end = null;
  for await (const { event, content } of messages(answer, signal)) {
    if (event === "end") end = content;
    onEvent(/** @type {any} */ (event), withRows(content));
  }
  return end;
}

/** Decodes the attention rows of a step from base64. @param {Record<string, any>} content */
function withRows(content) {
  if (!content.rows) return content;
  /** @param {{data: string}} rows */
  const read = (rows) => ({ ...rows, data: Uint8Array.from(atob(rows.data), (character) => character.charCodeAt(0)) });
  const rows = Object.entries(content.rows).map(([id, one]) => [id, read(one)]);
  return { ...content, rows: Object.fromEntries(rows) };
}
