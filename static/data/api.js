/** The server's routes as functions. No DOM, no cache, no retry: a failure is an `ApiError`. */

import { decode } from "./wire.js";

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

/** @returns {Promise<{default: string, models: any[]}>} */
export const models = async (options = {}) => (await send("GET", "/api/models", undefined, options)).json();

/** The full entry of one model. @param {string} name @returns {Promise<any>} */
export const model = async (name, options = {}) =>
  (await send("GET", `/api/models/${encodeURIComponent(name)}`, undefined, options)).json();

/** @param {{model?: string, text: string}} request */
export const tokenize = async (request, options = {}) => (await send("POST", "/api/tokenize", request, options)).json();

/** @param {object} request @returns {Promise<import("./wire.js").Decoded>} */
export const trace = async (request, options = {}) =>
  decode(await (await send("POST", "/api/trace", request, options)).arrayBuffer());

/** The answer's bytes, as a file to save. @param {object} request @returns {Promise<Blob>} */
export const download = async (request, options = {}) => (await send("POST", "/api/trace", request, options)).blob();

/** Parameters of a model by name. @param {object} request @returns {Promise<import("./wire.js").Decoded>} */
export const weights = async (request, options = {}) =>
  decode(await (await send("POST", "/api/weights", request, options)).arrayBuffer());

/** One of the explanations, as JSON; the table of positions as tensors. @param {string} what @param {object} request */
export async function explain(what, request, options = {}) {
  const answer = await send("POST", `/api/explain/${what}`, request, options);
  return what === "positions" ? decode(await answer.arrayBuffer()) : answer.json();
}

/** The answer of a generation, a stream of events. @param {object} request @returns {Promise<Response>} */
export const generate = (request, options = {}) => send("POST", "/api/generate", request, options);

/** The answer of a measurement of effects, a stream of events. @param {object} request @returns {Promise<Response>} */
export const effects = (request, options = {}) => send("POST", "/api/explain/effects", request, options);

/** A function of the model's code. @param {string} name @returns {Promise<{name: string, object: string, file: string, line: number, code: string}>} */
export const source = async (name, options = {}) =>
  (await send("GET", `/api/source/${encodeURIComponent(name)}`, undefined, options)).json();

/** The results of a beam search, best first. @param {object} request */
export const translate = async (request, options = {}) =>
  (await send("POST", "/api/translate", request, options)).json();

/**
 * @param {string} method @param {string} path @param {object|undefined} body
 * @param {{signal?: AbortSignal}} options
 */
async function send(method, path, body, { signal } = {}) {
  let answer;
  try {
    const headers = body === undefined ? undefined : { "content-type": "application/json" };
    answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError({ code: "unreachable", message: String(error) });
  }
  if (!answer.ok) throw await errorOf(answer);
  return answer;
}

/** @param {Response} answer */
async function errorOf(answer) {
  const said = await answer.json().catch(() => ({}));
  const retryAfter = answer.status === 503 ? Number(answer.headers.get("retry-after")) || 1 : 0;
  // A proxy's 502 or 504 has another body: the app behind it does not respond.
  const code = said?.error?.code ?? (answer.status >= 502 ? "unreachable" : "http");
  return new ApiError({ message: `HTTP ${answer.status}`, ...said?.error, code, status: answer.status, retryAfter });
}
