/**
 * What a document (`chumoku.show`) has in place of the server: one run or two, each with tensors and explanations that
 * were computed when it was saved. It has the functions of `api.js` that pictures call. No DOM.
 */

import { attentionsOf, overviewOf } from "../model/description.js";
import { partOf } from "../model/taps.js";
import { ApiError } from "./api.js";
import { decode } from "./wire.js";

/**
 * @import { Edge } from "../model/interventions.js"
 * @import { Effect } from "./streams.js"
 * @import { Decoded, Tensor } from "./wire.js"
 */

/**
 * @typedef {{tensors: ArrayBuffer, answers: Object<string, any>}} Saved  a safetensors body in float32, and explanations by name
 * @typedef {{row: number|null, start: {answer: number, p: number}, effects: Effect[],
 *   look: {edges: Edge[], p: number}|null}} SavedEffects  of knockouts on the answer of a row; `look`: the one
 *   with the largest effect, which is saved as a separate run
 */

/** What was not saved. A status of 4xx: the panel that asks says so, and the others are unaffected. */
const missing = () => new ApiError({ code: "not_saved", status: 404 });

/**
 * @param {any[]} models  entries of /api/models/{name}, whole
 * @param {Saved[]} saved
 */
export function createArchive(models, saved) {
  /** @param {string|null} name */
  const entry = (name) => models.find((one) => one.name === name) ?? models[0];
  const runs = saved.map(({ tensors, answers }) => {
    const decoded = decode(tensors);
    return { decoded, answers, key: keyOf(decoded.meta.run) };
  });

  /** The run that is asked for. @param {any} request */
  function runOf(request) {
    const key = keyOf(request);
    const found = runs.find((one) => one.key === key);
    if (!found) throw missing();
    return found;
  }

  return {
    /** @param {string} name */
    model: async (name) => entry(name),

    /** @param {any} request @returns {Promise<Decoded & {file: string, measured: SavedEffects|null, lacks: (need: string) => string|null}>} */
    async trace(request) {
      const { decoded, answers } = runOf(request);
      const { meta, tensors } = decoded;
      const want = /** @type {string[]} */ (request.want);
      const model = entry(meta.model);
      if (want.some((name) => !tensors[name] || (request.dtype !== "uint8" && isPicture(model, name, tensors[name]))))
        throw missing();
      const own = Object.fromEntries(
        want.map((name) => [name, request.dtype === "uint8" ? pictured(model, name, tensors[name]) : tensors[name]]),
      );
      const predictions = rowsOf(meta, request.predict);
      const measured = answers.effects ?? null;
      const about = {
        file: meta.model,
        measured,
        lacks: (/** @type {string} */ need) =>
          lacks(need, (name) => Boolean(tensors[name]) && !isPicture(model, name, tensors[name]), answers),
      };
      return { meta: { ...meta, predictions }, tensors: own, ...about };
    },

    /** @param {string} what @param {any} request */
    async explain(what, request) {
      const { answers } = runOf(request);
      if (!(what in answers)) throw missing();
      return answers[what];
    },

    weights: async () => Promise.reject(missing()),
    tokenize: async () => Promise.reject(missing()),
  };
}

/** What identifies a saved run: its model's name and its interventions. @param {any} run */
const keyOf = ({ model, interventions = [] }) => JSON.stringify([model, interventions]);

/** The listed predictions; without positions the last row's. @param {any} meta @param {any} asked */
function rowsOf({ predictions }, asked) {
  if (!asked || !predictions?.length) return [];
  const rows = asked.positions ?? [predictions.at(-1).position];
  return rows.map((/** @type {number} */ row) => {
    const found = predictions.find((/** @type {any} */ one) => one.position === row);
    if (!found) throw missing();
    return found;
  });
}

/** Whether a tensor has weights, in bytes: of a layer that was saved only as a picture. @param {any} model @param {string} name @param {Tensor} tensor */
const isPicture = (model, name, { data }) => partOf(model, name)?.role !== "mask" && data instanceof Uint8Array;

/** Weights as the bytes that a canvas is painted from; masks unchanged. @param {any} model @param {string} name @param {Tensor} tensor */
function pictured(model, name, tensor) {
  const part = partOf(model, name);
  if (part?.role !== overviewOf(part?.attention ?? attentionsOf(model)[0]) || tensor.data instanceof Uint8Array)
    return tensor;
  const data = Uint8ClampedArray.from(/** @type {Float32Array} */ (tensor.data), (weight) => weight * 255); // rounds
  return { ...tensor, data: new Uint8Array(data.buffer) };
}

/**
 * Why a need can never be met, as a key of the catalogue; null: it can.
 * @param {string} need @param {(tap: string) => boolean} has  whether a tensor is here, and not only as a picture @param {Object<string, any>} answers
 */
function lacks(need, has, answers) {
  const [kind, name] = need.split(/:(.*)/s);
  if (kind === "tensor") return has(name) ? null : "open.lacks_tensor";
  if (kind === "explain") return name in answers ? null : "open.lacks_model";
  if (kind === "weight" || kind === "rows" || kind === "counts") return "open.lacks_model";
  return kind === "compared_detail" || kind === "compared" || kind === "head_rows" ? "open.lacks_server" : null;
}
