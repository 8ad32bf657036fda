/**
 * Answers the page's requests from what a server once said (stored/*.safetensors): a trace is stored as tensors, so that any
 * part of it can be asked for. With an upstream (record.py), what is missing is asked there and stored.
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { decode } from "../../static/data/wire.js";
import { encode, rounded } from "./safetensors.js";

const STATIC = new URL("../../static/", import.meta.url);
const STORED = new URL("stored/", import.meta.url);
/** What a request for a trace says beside the run. */
const ASKED = new Set([
  "want",
  "dtype",
  "heads",
  "queries",
  "pooled",
  "predict",
  "detail",
  "whole", // left to a separate request, as the detail is
  "layers",
  "format",
  "describe",
]);

/** @typedef {{shape: number[], dims: string[], data: Float32Array|Uint8Array|Int32Array}} Tensor */
/** @typedef {{run: any, meta: any, predictions: Record<string, any>}} Run */

/** @param {any} request */
const runIn = (request) => Object.fromEntries(Object.entries(request).filter(([name]) => !ASKED.has(name)));

/** With its fields in order. @param {any} value @returns {string} */
const keyOf = (value) =>
  JSON.stringify(value, (_, one) =>
    one && typeof one === "object" && !Array.isArray(one) ? Object.fromEntries(Object.entries(one).sort()) : one,
  );

/** These columns of a matrix. @param {Tensor} matrix @param {number[]|null} columns @returns {Tensor} */
function columnsOf(matrix, columns) {
  if (!columns) return matrix;
  const [n, width] = matrix.shape;
  const data = new Float32Array(n * columns.length);
  for (let row = 0; row < n; row++)
    for (const [at, column] of columns.entries()) data[row * columns.length + at] = matrix.data[row * width + column];
  return { ...matrix, shape: [n, columns.length], data };
}

/** What was asked of one model, mostly about one sentence. @param {string} name @param {string|null} [upstream]  the address of a server */
export function createServer(name, upstream = null) {
  const file = new URL(`${name}.safetensors.gz`, STORED);
  const { meta, tensors } = existsSync(file)
    ? decode(exact(gunzipSync(readFileSync(file))))
    : { meta: {}, tensors: {} };
  /** @type {{runs: Run[], answers: Record<string, any>}} */
  const kept = { runs: [], answers: {}, ...meta };
  let news = false;

  /** @param {string} path @param {any} [body] */
  async function ask(path, body) {
    if (upstream === null)
      throw new Error(
        `${name} has no answer to ${path} ${JSON.stringify(body)?.slice(0, 600)}: python -m tests.pictures.record`,
      );
    const how = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await realFetch(upstream + path, how);
    if (!answer.ok) throw new Error(`${path} ${JSON.stringify(body)?.slice(0, 300)}: ${await answer.text()}`);
    news = true;
    return answer;
  }

  /** @param {any} request */
  async function trace(request) {
    const run = runIn(request);
    const want = /** @type {string[]} */ (request.want);
    const at = kept.runs.findIndex((one) => keyOf(one.run) === keyOf(run));
    const index = at < 0 ? kept.runs.length : at;
    const asked = request.predict && keyOf(request.predict.positions);
    // With the pictures of all heads, the open one is left to a separate request: these pages wait for no frame.
    const { want: own = [], heads = null } = (!request.pooled && request.detail) || {};
    const missing = [...new Set([...want, ...own])].filter((one) => !tensors[`${index}/${one}`]);
    if (at < 0 || missing.length || (asked && !kept.runs[at].predictions[asked])) {
      const predict = request.predict ? { predict: request.predict } : {};
      const came = decode(
        await (await ask("/api/trace", { ...run, want: missing, dtype: "float32", ...predict })).arrayBuffer(),
      );
      for (const one of missing) tensors[`${index}/${one}`] = came.tensors[one];
      const { predictions, dims, seconds, scale, ...about } = came.meta;
      kept.runs[index] ??= { run, meta: { ...about, predictions: [], seconds: 0, scale: {} }, predictions: {} };
      if (asked) kept.runs[index].predictions[asked] = predictions;
    }
    const { meta: about, predictions } = kept.runs[index];
    const sent = Object.fromEntries(want.map((one) => [one, part(tensors[`${index}/${one}`], request)]));
    for (const one of own) sent[`detail/${one}`] = part(tensors[`${index}/${one}`], { heads, dtype: "float32" });
    const detail = own.length ? { heads } : undefined;
    const answer = { ...about, heads: request.heads ?? null, predictions: asked ? predictions[asked] : [], detail };
    return encode(sent, answer);
  }

  /** @param {any} request */
  async function weights({ model, want, rows, columns = null }) {
    const stored = (/** @type {string} */ one) => `weights/${one}${rows ? `/${rows.join()}` : ""}`;
    const missing = want.filter((/** @type {string} */ one) => !tensors[stored(one)]);
    if (missing.length) {
      const came = decode(
        await (await ask("/api/weights", { model, want: missing, ...(rows && { rows }) })).arrayBuffer(),
      );
      for (const one of missing) tensors[stored(one)] = came.tensors[one];
      kept.answers.weights = came.meta;
    }
    return encode(
      Object.fromEntries(want.map((/** @type {string} */ one) => [one, columnsOf(tensors[stored(one)], columns)])),
      kept.answers.weights,
    );
  }

  /** Any other answer, by its question. @param {string} path @param {any} [body] */
  async function json(path, body) {
    const key = body ? `${path} ${keyOf(body)}` : path;
    kept.answers[key] ??= rounded(await (await ask(path, body)).json());
    return kept.answers[key];
  }

  /** The effects of knockouts come one by one. @param {string} path @param {any} body */
  async function stream(path, body) {
    const key = `stream ${path} ${keyOf(body)}`;
    kept.answers[key] ??= await (await ask(path, body)).text();
    return kept.answers[key];
  }

  /** @param {string} path @param {any} body */
  async function answerTo(path, body) {
    if (path === "/api/explain/effects")
      return new Response(await stream(path, body), { headers: { "content-type": "text/event-stream" } });
    if (path.startsWith("/static/")) return new Response(readFileSync(new URL(path.slice("/static/".length), STATIC)));
    if (path === "/api/trace") return new Response(await trace(body));
    if (path === "/api/weights") return new Response(await weights(body));
    if (path === "/api/explain/positions") return new Response(await positions(body));
    return Response.json(await json(path, body));
  }

  /** The table of positions is tensors. @param {any} body */
  async function positions(body) {
    const key = `positions ${keyOf(body)}`;
    const own = () => Object.entries(tensors).filter(([one]) => one.startsWith(`${key}/`));
    if (!kept.answers[key]) {
      const came = decode(await (await ask("/api/explain/positions", body)).arrayBuffer());
      kept.answers[key] = came.meta;
      for (const [one, tensor] of Object.entries(came.tensors)) tensors[`${key}/${one}`] = tensor;
    }
    return encode(
      Object.fromEntries(own().map(([one, tensor]) => [one.slice(key.length + 1), tensor])),
      kept.answers[key],
    );
  }

  return {
    /** In the place of `fetch`; the page's addresses are relative. @param {string} path @param {{body?: string}} [options] */
    fetch: async (path, { body } = {}) => answerTo(`/${path}`, body && JSON.parse(body)),
    /** Writes what was new. */
    save() {
      if (news) writeFileSync(file, gzipSync(Buffer.from(encode(tensors, kept, true)), { level: 9 }));
    },
  };
}

const realFetch = globalThis.fetch;

/** @param {any} buffer  a Buffer */
const exact = (buffer) =>
  /** @type {ArrayBuffer} */ (buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.length));

/** What of a tensor was asked for: some heads, some queries, as bytes. @param {Tensor} tensor @param {any} request @returns {Tensor} */
function part({ shape, dims, data }, { heads, queries, dtype }) {
  let out = { shape: [...shape], dims, data };
  const only = (/** @type {number} */ at, /** @type {number[]} */ chosen) => {
    const [before, inner] = [product(out.shape.slice(0, at)), product(out.shape.slice(at + 1))];
    const parts = [];
    for (let i = 0; i < before; i++)
      for (const one of chosen)
        parts.push(out.data.subarray((i * out.shape[at] + one) * inner, (i * out.shape[at] + one + 1) * inner));
    const all = new /** @type {any} */ (out.data).constructor(before * chosen.length * inner);
    parts.forEach((one, i) => all.set(one, i * inner));
    out = { dims, data: all, shape: out.shape.with(at, chosen.length) };
  };
  const head = dims.findIndex((dim) => dim === "head" || dim === "kv_head");
  if (heads && head >= 0 && shape[head] > 1) only(head, heads);
  if (queries && dims.includes("query")) only(dims.indexOf("query"), queries);
  if (dtype === "uint8" && out.data instanceof Float32Array)
    out.data = new Uint8Array(Uint8ClampedArray.from(out.data, (one) => one * 255).buffer);
  return out;
}

/** @param {number[]} sizes */
const product = (sizes) => sizes.reduce((all, one) => all * one, 1);
