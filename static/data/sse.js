/** Server-sent events from a fetch body, because EventSource cannot POST. */

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{event: string, data: string}>} one item for each event that has data
 */
export async function* events(body) {
  // TypeScript's TextDecoderStream takes more kinds of bytes than a fetch body's chunks are.
  const decoder = /** @type {ReadableWritablePair<string, Uint8Array>} */ (new TextDecoderStream());
  const reader = body.pipeThrough(decoder).getReader();
  let rest = "";
  let message = emptyMessage();
  try {
    for (;;) {
      const { done, value } = await reader.read();
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
