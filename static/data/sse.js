/** Server-sent events from a fetch body, because EventSource cannot POST. */

import { ApiError } from "./api.js";
import { answered } from "./deadline.js";

/**
 * The events of an answer, each with JSON. The server's own error and a broken connection are thrown as an `ApiError`.
 * @param {Response} answer @param {AbortSignal} [signal]  of the request
 * @returns {AsyncGenerator<{event: string, content: any}>}
 */
export async function* messages(answer, signal) {
  try {
    for await (const { event, data } of events(/** @type {ReadableStream<Uint8Array>} */ (answer.body))) {
      const content = JSON.parse(data);
      if (event === "error") throw new ApiError({ status: 200, ...content.error });
      yield { event, content };
    }
  } catch (error) {
    if (error instanceof ApiError || signal?.aborted) throw error;
    throw new ApiError({ code: "unreachable", message: String(error) });
  }
}

/**
 * Hands each event to the function of its name, and resolves at "done"; an answer that ends without it was cut off.
 * @param {Response} answer @param {AbortSignal} signal  of the request
 * @param {Record<string, (content: any) => void>} on
 */
export async function untilDone(answer, signal, on) {
  for await (const { event, content } of messages(answer, signal)) {
    if (event === "done") return;
    on[event]?.(content);
  }
  throw new ApiError({ code: "unreachable", message: "cut off" });
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{event: string, data: string}>} one item for each event that has data
 */
async function* events(body) {
  // TypeScript's TextDecoderStream takes more kinds of bytes than a fetch body's chunks are.
  const decoder = /** @type {ReadableWritablePair<string, Uint8Array>} */ (new TextDecoderStream());
  const reader = body.pipeThrough(decoder).getReader();
  let rest = "";
  let message = emptyMessage();
  try {
    for (;;) {
      const { done, value } = await answered(reader.read());
      if (done) return; // an event without its blank line is incomplete and dropped, as the standard says
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line !== "") readLine(message, line);
        else {
          if (message.data.length) yield { event: message.event, data: message.data.join("\n") };
          message = emptyMessage();
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // leaving the loop early closes the connection, which stops the server's work
  }
}

function emptyMessage() {
  return { event: "message", data: /** @type {string[]} */ ([]) };
}

/** @param {ReturnType<typeof emptyMessage>} message @param {string} line */
function readLine(message, line) {
  if (line.startsWith(":")) return; // a comment, which the server sends to keep the connection alive
  const [, field, value] = line.match(/^([^:]*):? ?(.*)$/s) ?? [];
  if (field === "data") message.data.push(value);
  if (field === "event") message.event = value;
}
