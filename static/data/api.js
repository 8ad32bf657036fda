/** The server's routes as functions. No DOM, no cache, no retry: a failure is an `ApiError`. */

import { decode } from "./wire.js";

/**
 * @import { Decoded } from "./wire.js"
 */

// A server that accepts a request and then hangs sends no error, so the page would wait for ever. So after a while
// without an answer, the page asks whether the server responds at all; one that works on something long does so at
// once.

const PATIENCE_MS = 5000;
const PROBE_MS = 3000;

/**
 * The answer; rejects if the server does not respond at all.
 * @template T
 * @param {Promise<T>} answer
 * @param {{isThere?: () => Promise<boolean>, patience?: number}} [options]
 * @returns {Promise<T>}
 */
export function answered(answer, { isThere = probe, patience = PATIENCE_MS } = {}) {
  return new Promise((resolve, reject) => {
    let open = true;
    const look = async () => {
      const there = await isThere();
      if (!open) return;
      if (there) timer = setTimeout(look, patience);
      else reject(new Error(`no answer for ${patience / 1000} s`));
    };
    let timer = setTimeout(look, patience);
    answer.then(resolve, reject).finally(() => {
      open = false;
      clearTimeout(timer);
    });
  });
}

/** Whether the server answers, whatever it says. */
const probe = () =>
  fetch("healthz", { cache: "no-store", signal: AbortSignal.timeout(PROBE_MS) }).then(
    () => true,
    () => false,
  );

/** The server's error, or `code: "unreachable"` when there is no answer. */
export class ApiError extends Error {
  /** @param {{code: string, message?: string, status?: number, retryAfter?: number, [more: string]: any}} fields */
  constructor({ code, message = code, status = 0, retryAfter = 0, ...more }) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.status = status;
    /** seconds to wait before another try; 0: the same request would fail again */
    this.retryAfter = retryAfter;
    /** @type {string|undefined} */ this.hint = more.hint;
    this.limit = more.limit;
    this.got = more.got;
    this.where = more.where;
    this.known = more.known;
  }
}

/**
 * The id of this tab for as long as it is open: of several server processes, the one that has read its text keeps
 * answering. It is not stored, and not made by `randomUUID`, which exists only with TLS.
 */
const SESSION = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0"));

/** @returns {Promise<{default: string, models: any[]}>} */
export const models = (options = {}) => read("json", send("GET", "api/models", undefined, options), options);

/** Whether this reader may open more models, and the folders that there are. @returns {Promise<{allowed: boolean, folders: string[]}>} */
export const openable = (options = {}) => read("json", send("GET", "api/open", undefined, options), options);

/** The answer of the opening of a model, a stream of events. @param {{model: string}} request @returns {Promise<Response>} */
export const open = (request, options = {}) => send("POST", "api/open", request, options);

/** The full entry of one model. @param {string} name @returns {Promise<any>} */
export const model = (name, options = {}) =>
  read("json", send("GET", `api/models/${encodeURIComponent(name)}`, undefined, options), options);

/** @typedef {{pixels: number[][], label: number, index: number}} Example */

/** Pictures that a model never saw. @param {string} name @returns {Promise<{source: string, pictures: Example[]}>} */
export const pictures = (name, options = {}) =>
  read("json", send("GET", `api/models/${encodeURIComponent(name)}/pictures`, undefined, options), options);

/** A PNG or JPEG as the pixels that a model reads. @param {string} name @param {Blob} file @returns {Promise<{pixels: string, width: number, height: number}>} */
export const pixels = (name, file, options = {}) =>
  read("json", send("POST", `api/models/${encodeURIComponent(name)}/pixels`, file, options), options);

/**
 * Turns of a chat as the `input` of a run: the text that the model's template makes of them.
 * @param {string} name @param {{role: string, content: string}[]} messages @param {boolean} generation_prompt
 * @returns {Promise<{input: {text: string, special: boolean, add_special_tokens: boolean}}>}
 */
export const chat = (name, messages, generation_prompt, options = {}) =>
  read(
    "json",
    send("POST", `api/models/${encodeURIComponent(name)}/chat`, { messages, generation_prompt }, options),
    options,
  );

/** @param {{model?: string, text: string}} request */
export const tokenize = (request, options = {}) =>
  read("json", send("POST", "api/tokenize", request, options), options);

/** @param {object} request @returns {Promise<Decoded>} */
export const trace = async (request, options = {}) =>
  decode(await read("arrayBuffer", send("POST", "api/trace", request, options), options));

/** The answer's bytes, as a file to save. @param {object} request @returns {Promise<Blob>} */
export const download = (request, options = {}) => read("blob", send("POST", "api/trace", request, options), options);

/** Parameters of a model by name. @param {object} request @returns {Promise<Decoded>} */
export const weights = async (request, options = {}) =>
  decode(await read("arrayBuffer", send("POST", "api/weights", request, options), options));

/** One of the explanations, as JSON; the table of positions as tensors. @param {string} what @param {object} request */
export async function explain(what, request, options = {}) {
  const answer = send("POST", `api/explain/${what}`, request, options);
  return what === "positions" ? decode(await read("arrayBuffer", answer, options)) : read("json", answer, options);
}

/** The answer of a generation, a stream of events. @param {object} request @returns {Promise<Response>} */
export const generate = (request, options = {}) => send("POST", "api/generate", request, options);

/** The answer of several generations from one text, a stream of events. @param {object} request @returns {Promise<Response>} */
export const ways = (request, options = {}) => send("POST", "api/generate/ways", request, options);

/** The answer of a measurement of costs, a stream of events. @param {object} request @returns {Promise<Response>} */
export const timings = (request, options = {}) => send("POST", "api/explain/timings", request, options);

/** The answer of a measurement of the KV cache, a stream of events. @param {object} request @returns {Promise<Response>} */
export const caching = (request, options = {}) => send("POST", "api/explain/caching", request, options);

/** The answer of a measurement of effects, a stream of events. @param {object} request @returns {Promise<Response>} */
export const effects = (request, options = {}) => send("POST", "api/explain/effects", request, options);

/** The answer of a measurement of patches, a stream of events. @param {object} request @returns {Promise<Response>} */
export const patches = (request, options = {}) => send("POST", "api/explain/patches", request, options);

/** The answer of a measurement of ablations, a stream of events. @param {object} request @returns {Promise<Response>} */
export const ablations = (request, options = {}) => send("POST", "api/explain/ablations", request, options);

/** A function of the model's code. @param {string} name @returns {Promise<{name: string, object: string, file: string, line: number, code: string}>} */
export const source = (name, options = {}) =>
  read("json", send("GET", `api/source/${encodeURIComponent(name)}`, undefined, options), options);

/** The results of a beam search, best first, and what each step considered. @param {object} request */
export const beams = (request, options = {}) => read("json", send("POST", "api/beams", request, options), options);

/**
 * @param {string} method @param {string} path @param {object|Blob|undefined} body  a file is sent as it is
 * @param {{signal?: AbortSignal, headers?: Record<string, string>}} options
 */
export async function send(method, path, body, { signal, headers: more = {} } = {}) {
  const own = new AbortController(); // giving up also cancels the request, even while its body arrives
  const either = signal ? AbortSignal.any([signal, own.signal]) : own.signal;
  const session = { "x-session-id": SESSION.join("") };
  const isFile = body instanceof Blob;
  const type = isFile ? "application/octet-stream" : "application/json"; // the server recognises a file's kind by its bytes
  const headers = { ...more, ...session, ...(body !== undefined && { "content-type": type }) };
  const sent = fetch(path, { method, headers, body: isFile ? body : body && JSON.stringify(body), signal: either });
  const answer = await arrived(sent, signal, () => own.abort());
  givingUp.set(answer, () => own.abort());
  if (!answer.ok) throw await arrived(errorOf(answer), signal, givingUp.get(answer));
  return answer;
}

/** The functions that cancel the rest of an answer. @type {WeakMap<Response, () => void>} */
const givingUp = new WeakMap();

/**
 * The whole of an answer.
 * @param {"json"|"arrayBuffer"|"blob"} how @param {Promise<Response>} sent @param {{signal?: AbortSignal}} options @returns {Promise<any>}
 */
export async function read(how, sent, { signal }) {
  const answer = await sent;
  return arrived(answer[how](), signal, givingUp.get(answer));
}

/**
 * What comes from the server; a connection that broke or hangs is "unreachable".
 * @template T
 * @param {Promise<T>} coming @param {AbortSignal|undefined} signal @param {() => void} [giveUp] @returns {Promise<T>}
 */
async function arrived(coming, signal, giveUp = () => {}) {
  try {
    return await answered(coming);
  } catch (error) {
    if (signal?.aborted) throw error;
    giveUp();
    throw new ApiError({ code: "unreachable", message: String(error) });
  }
}

/** @param {Response} answer */
async function errorOf(answer) {
  const said = await answer.json().catch(() => ({}));
  const retryAfter = answer.status === 503 ? Number(answer.headers.get("retry-after")) || 1 : 0;
  // A proxy's 502 or 504 has another body: the app behind it does not respond.
  const code = said?.error?.code ?? (answer.status >= 502 ? "unreachable" : "http");
  return new ApiError({ message: `HTTP ${answer.status}`, ...said?.error, code, status: answer.status, retryAfter });
}
