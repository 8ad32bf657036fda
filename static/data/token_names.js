/**
 * Labels for the tokens of a saved trace. A file has the tokens of its sentence. For other ids the server is asked, if
 * it has the model and its tokenizer spells the file's own tokens as the file does.
 */

import { writesTarget } from "../model/description.js";
import { sidesOf } from "../model/sides.js";

/** @import { Token } from "../model/labels.js" */

/** @typedef {Pick<Token, "id"|"text"|"bytes"|"partial"|"special">} Word */

/** How many of the file's own tokens are compared. */
const COMPARED = 64;

/**
 * @param {{trace: typeof import("./api.js").trace}} api
 * @param {any} meta  of the file
 * @param {any} known  the server's model of this name, if it has one
 */
export function createNames(api, meta, known) {
  /** @type {Map<number, Word>} */
  const words = new Map();
  /** @param {Word[]} tokens */
  const learn = (tokens) => {
    for (const token of tokens) if (!words.has(token.id)) words.set(token.id, token);
  };
  learn(meta.tokens);
  learn(meta.target_tokens ?? []);
  for (const { candidates } of meta.predictions ?? []) learn(candidates);
  let asking = known !== undefined;

  /** @param {number[]} ids */
  async function ask(ids) {
    const { start, end } = sidesOf(meta).source.real;
    /** @type {Word[]} */
    const own = meta.tokens.slice(start, end).slice(0, COMPARED);
    const token_ids = [...own.map((token) => token.id), ...ids];
    const target = writesTarget(meta) ? { target_ids: own.slice(0, 1).map(({ id }) => id) } : {};
    const { meta: told } = await api.trace({ model: known.name, token_ids, ...target, want: [], dtype: "float32" });
    if (own.some(({ bytes }, i) => told.tokens[i].bytes !== bytes)) asking = false;
    else learn(told.tokens);
  }

  /** @param {number[]} ids @returns {Promise<Word[]>} a label for each; the id itself if there is none */
  return async function namesOf(ids) {
    const missing = ids.filter((id) => !words.has(id));
    if (missing.length && asking) {
      await ask(missing).catch(() => {
        asking = false; // optional: ids can be shown instead
      });
    }
    return ids.map((id) => words.get(id) ?? { id, text: `#${id}`, bytes: "", partial: false, special: true });
  };
}
