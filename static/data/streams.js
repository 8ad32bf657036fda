/** Server-sent events from a fetch body, because EventSource cannot POST. */

import * as api from "./api.js";
import { ApiError, answered } from "./api.js";

/**
 * The events of an answer, each with JSON. The server's own error and a broken connection are thrown as an `ApiError`.
 * @param {Response} answer @param {AbortSignal} [signal]  of the request
 * @returns {AsyncGenerator<{event: string, content: any}>}
 */
async function* messages(answer, signal) {
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
 * Passes each event to the function of its name, and resolves at "done"; an answer that ends without it was cut off.
 * @param {Response} answer @param {AbortSignal} signal  of the request
 * @param {Record<string, (content: any) => void>} on
 */
async function untilDone(answer, signal, on) {
  for await (const { event, content } of messages(answer, signal)) {
    if (event === "done") return;
    on[event]?.(content);
  }
  throw new ApiError({ code: "unreachable", message: "cut off" });
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {<T>(coming: Promise<T>) => Promise<T>} [wait]  gives up where nothing comes
 * @returns {AsyncGenerator<{event: string, data: string}>} one item for each event that has data
 */
export async function* events(body, wait = answered) {
  // TypeScript's TextDecoderStream takes more kinds of bytes than a fetch body's chunks are.
  const decoder = /** @type {ReadableWritablePair<string, Uint8Array>} */ (new TextDecoderStream());
  const reader = body.pipeThrough(decoder).getReader();
  let rest = "";
  let message = emptyMessage();
  try {
    for (;;) {
      const { done, value } = await wait(reader.read());
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

// How long one layer's attention takes on the server: a stream of measurements. No DOM.

/**
 * @typedef {{form: string, n: number, seconds: number|null, why: "memory"|"time"|null}} Timing  `why` it was not run
 * @typedef {{forms: string[], lengths: number[], device: string, threads: number}} TimingStart
 */

/**
 * Resolves when all is measured. Aborting the signal closes the connection, which ends the server's work.
 * @param {string|null} model
 * @param {{signal: AbortSignal, onStart: (start: TimingStart) => void, onPoint: (point: Timing) => void}} options
 */
export async function measureCosts(model, { signal, onStart, onPoint }) {
  const answer = await api.timings({ model }, { signal });
  await untilDone(answer, signal, { start: onStart, point: onPoint });
}

// What the KV cache saves on a text: a stream of measurements. No DOM.

/**
 * @typedef {{n: number, computed: [number, number], bytes: [number, number], milliseconds: [number, number], difference: number}} CacheReading
 *   of the last of `n` tokens, each with the cache and without it; `difference`: the largest between their logits
 */

/**
 * Resolves when every length is measured. Aborting the signal closes the connection, which ends the server's work.
 * @param {object} request  the run
 * @param {{signal: AbortSignal, onReading: (reading: CacheReading) => void}} options
 */
export async function measureCaching(request, { signal, onReading }) {
  const answer = await api.caching(request, { signal });
  await untilDone(answer, signal, { reading: onReading });
}

// Opening a model: a stream of what has come of its download.

/** @typedef {{bytes: number, of: number, seconds_left: number|null}} Progress */

/**
 * The name of the opened model. Aborting the signal stops its download.
 * @param {string} model @param {{signal: AbortSignal, onProgress: (progress: Progress) => void}} options
 */
export async function openModel(model, { signal, onProgress }) {
  const answer = await api.open({ model }, { signal });
  let name = model;
  await untilDone(answer, signal, {
    start: ({ bytes }) => onProgress({ bytes: 0, of: bytes, seconds_left: null }),
    progress: onProgress,
    opened: (content) => {
      name = content.name;
    },
  });
  return name;
}

// Generation: a stream of steps.

/**
 * Run a generation. `onEvent(name, data)` gets "start", "step" and "end"; in a step the `data` of
 * each attention's `rows` is a Uint8Array here.
 * Resolves with the "end" event's data, or null when the stream stopped without one. Aborting the signal closes the
 * connection and rejects with an AbortError; the server's own error is thrown as an `ApiError`.
 * @param {object} request
 * @param {{signal?: AbortSignal, onEvent: (name: "start"|"step"|"end", data: any) => void}} options
 */
export async function streamGeneration(request, { signal, onEvent }) {
  const answer = await api.generate(request, { signal });
  let end = null;
  for await (const { event, content } of messages(answer, signal)) {
    if (event === "end") end = content;
    onEvent(/** @type {any} */ (event), withRows(content));
  }
  return end;
}

/**
 * The steps of one request as an iterator, whose caller decides the pace and when to stop; each with `from`: the prediction that its token was drawn from; and the first with `begun`: what was
 * read before it.
 * @param {object} request @param {AbortSignal} signal
 * @returns {AsyncGenerator<any>}
 */
export async function* generationEvents(request, signal) {
  let [from, begun] = [null, null];
  for await (const { name, data } of eventsOf(request, signal)) {
    if (name === "step") yield { ...data, from, begun };
    from = data.prediction ?? from;
    begun = name === "start" ? data.cache : null;
  }
}

/** @typedef {{name?: string, data?: any, done?: boolean, error?: unknown}} Event */

/** What arrives is buffered: a slow reader does not block the server. @param {object} request @param {AbortSignal} signal */
async function* eventsOf(request, signal) {
  const inbox = /** @type {Event[]} */ ([]);
  let wake = () => {};
  const put = (/** @type {Event} */ item) => {
    inbox.push(item);
    wake();
  };
  streamGeneration(request, { signal, onEvent: (name, data) => put({ name, data }) })
    .then((end) => put(end ? { done: true } : { error: cutOff() }))
    .catch((error) => put({ error }));
  for (;;) {
    while (inbox.length === 0) await new Promise((resolve) => (wake = /** @type {() => void} */ (resolve)));
    const { name, data, done, error } = /** @type {Event} */ (inbox.shift());
    if (error) throw error;
    if (done) return;
    yield { name, data };
  }
}

function cutOff() {
  return new ApiError({ code: "unreachable", message: "the stream stopped before its end" });
}

/** @typedef {{way: number, seed: number, token: any, u: number|null, before: number, after: number}} WayStep */

/**
 * Several ways on from one text. Resolves when all have ended.
 * @param {{ways: number}} request
 * @param {{signal: AbortSignal, onStart: (start: any) => void, onStep: (step: WayStep) => void}} options
 */
export async function streamWays(request, { signal, onStart, onStep }) {
  const answer = await api.ways(request, { signal });
  let ended = 0;
  for await (const { event, content } of messages(answer, signal)) {
    if (event === "start") onStart(content);
    else if (event === "step") onStep(content);
    else if (event === "end") ended++;
  }
  if (ended < request.ways) throw new ApiError({ code: "unreachable", message: "cut off" });
}

/** Decodes the attention rows of a step from base64. @param {Record<string, any>} content */
function withRows(content) {
  if (!content.rows) return content;
  /** @param {{data: string}} rows */
  const read = (rows) => ({ ...rows, data: Uint8Array.from(atob(rows.data), (character) => character.charCodeAt(0)) });
  const rows = Object.entries(content.rows).map(([id, one]) => [id, read(one)]);
  return { ...content, rows: Object.fromEntries(rows) };
}

// The effect of each connection: a stream of measured knockouts. No DOM.

/**
 * @typedef {{attention: string, layer: number, query: number, key: number, head?: number, p: number, delta: number}} Effect  `p` of the answer
 *   after the knockout; `delta`: ln p after − ln p before
 * @typedef {{answer: number, p: number, edges: number}} Start
 */

/**
 * Ask for the effects of edges on one answer. Resolves when the stream is complete. Aborting the signal closes the
 * connection, which ends the server's work; the server's own error is thrown as an `ApiError`.
 * @param {object} request
 * @param {{signal: AbortSignal, onStart: (start: Start) => void, onEffect: (effect: Effect) => void}} options
 */
export async function measure(request, { signal, onStart, onEffect }) {
  const answer = await api.effects(request, { signal });
  await untilDone(answer, signal, { start: onStart, effect: onEffect });
}

// What each head and each FFN does: a stream of measured ablations. No DOM.

/**
 * @typedef {{p: number, delta: number, kl: number}} Measured  as for an `Effect`; `kl`: KL(before ‖ after) over all answers
 * @typedef {({kind: "head", attention: string, layer: number, head: number} & Measured)
 *   | ({kind: "ffn", stack: string, layer: number} & Measured) | KeyEffect} Ablation
 * @typedef {{kind: "edge", attention: string, layer: number, query: number, key: number, head?: number, weight: number|null,
 *   length: number, logit: number|null} & Measured} KeyEffect  a connection of a row, with what the key brings; null: not known
 * @typedef {{answer: number, row: number, p: number, parts: number, tokens: Object<string, any>, classes: string[]}} AblationStart
 * @typedef {{start: AblationStart|null, found: Ablation[], error?: unknown}} Ablations  the whole answer
 */

/**
 * Ask what each head and each FFN does, or (`keys_of`) each key of a row. Resolves when the stream is complete; see `measure`.
 * @param {object} request
 * @param {{signal: AbortSignal, onStart: (start: AblationStart) => void, onOne: (one: Ablation) => void}} options
 */
export async function measureAblations(request, { signal, onStart, onOne }) {
  const answer = await api.ablations(request, { signal });
  await untilDone(answer, signal, { start: onStart, ablation: onOne });
}

// Activation patching: a stream of measured patches. No DOM.

/**
 * @typedef {{stack: string, layer: number, what: "stream"|"attention"|"ffn", position: number, attention?: string, p: number,
 *   difference: number, moved: number}} Patched  `moved`: 0 is this run, 1 the other one
 * @typedef {({kind: "head", attention: string, layer: number, head: number} | {kind: "ffn", stack: string, layer: number})
 *   & {p: number, difference: number, moved: number}} PathEffect  a writer, whose other output one receiver alone sees
 * @typedef {{answer: number, against: number, row: number, p: number, parts: number, difference: number, source_difference: number,
 *   ids: {source: number[], target: number[]|null}, tokens: Object<string, any>, classes: string[]}} PatchStart
 */

/**
 * Ask which activations of another run move this one's answer. Resolves when the stream is complete; see `measure`.
 * @param {object} request
 * @param {{signal: AbortSignal, onStart: (start: PatchStart) => void, onOne: (one: Patched|PathEffect) => void}} options
 */
export async function measurePatches(request, { signal, onStart, onOne }) {
  const answer = await api.patches(request, { signal });
  await untilDone(answer, signal, { start: onStart, patch: onOne });
}
