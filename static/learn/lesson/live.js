/** What a lesson requests from the model: traces of a step's run, and of the same run with a change. */

import * as api from "../../data/api.js";
import { retrying } from "../../data/ask.js";
import { asked } from "../../data/request.js";
import { indexOfMost, lengthOf, products, sum } from "../../model/matrix.js";
import { softmax as probabilities } from "../../model/sampling.js";
import { patched, RUN_DEFAULTS, runOf } from "../../state/run.js";

/** @import { Tensor } from "../../data/wire.js" */

/** How many times a busy server is asked. */
const TRIES = 6;

/**
 * @typedef {Object<string, any>} RunPatch  of a run: see `patched`
 * @typedef {ReturnType<typeof liveOf>} Live
 */

/** @param {Object<string, any>} open  of a step @param {any} model  its full entry */
export function liveOf(open, model) {
  const run = runOf({ ...RUN_DEFAULTS, ...open, model: model.name });

  /** @param {RunPatch} patch @param {object} more */
  const traced = (patch, more) =>
    retrying(() => api.trace({ ...asked(patched(run, patch)), dtype: "float32", ...more }), { tries: TRIES });

  /** Tensors by name, in float32. @param {string[]} want @param {RunPatch} [patch] */
  async function tensors(want, patch = {}) {
    const { meta, tensors: found } = await traced(patch, { want });
    return { meta, tokens: meta.tokens, written: meta.target_tokens ?? meta.tokens, tensors: found };
  }

  /**
   * What the model predicts in one row: the probability of each id, and its first choices.
   * @param {number|"last"} row @param {RunPatch} [patch]
   */
  async function answer(row, patch = {}) {
    const { tap } = model.description.logits;
    const { meta, tensors: found } = await traced(patch, { want: [tap] });
    const { data, shape } = found[tap];
    const size = shape[shape.length - 1];
    const at = row === "last" ? data.length / size - 1 : Math.min(row, data.length / size - 1);
    const p = nextProbabilities(
      /** @type {Float32Array} */ (data).subarray(at * size, (at + 1) * size),
      model.never_sampled,
    );
    return { meta, p, first: indexOfMost(p), row: at };
  }

  return {
    model,
    run,
    tensors,
    answer,
    /** @param {string} text @returns {Promise<any[]>} */
    pieces: async (text) => (await retrying(() => api.tokenize({ model: model.name, text }), { tries: TRIES })).tokens,
    /** The text of an id. @param {number} id @returns {Promise<string>} */
    async nameOf(id) {
      const { meta } = await traced({ input: { token_ids: [id] }, target: null, target_ids: null }, { want: [] });
      return meta.tokens.at(-1).text.trim();
    },
  };
}

/** In float64, without some ids. @param {Float32Array} logits @param {number[]} banned @returns {number[]} */
export function nextProbabilities(logits, banned = []) {
  const scores = Float64Array.from(logits);
  for (const id of banned) scores[id] = -Infinity;
  return Array.from(probabilities(scores));
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export const cosine = (a, b) => sum(products(a, b)) / (lengthOf(a) * lengthOf(b));

/** One row of a matrix, or of one matrix of several. @param {Tensor} tensor @param {number} row @param {number} [at] */
export function pageRow({ data, shape }, row, at = 0) {
  const [rows, size] = shape.slice(-2);
  const start = (at * rows + row) * size;
  return /** @type {Float32Array} */ (data).subarray(start, start + size);
}
