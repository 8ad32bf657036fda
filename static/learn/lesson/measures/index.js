/**
 * What a question can ask of the live model, by name. Each measure takes the step's model and run, and the `with` of the
 * question; `value` decides which option is right, and all that it returns can be used in the answer's words. `patch` is the change of the
 * page that shows what was measured; several are made one after the other.
 *
 * @typedef {(live: Live, options: any) => Promise<{value: number|string, patch?: Patch|Patch[]} & Object<string, any>>} Measure
 */

import { asked } from "../../../data/request.js";
import { streamGeneration } from "../../../data/streams.js";
import { toggled } from "../../../model/interventions.js";
import { tokenLabel } from "../../../model/labels.js";
import { showingIds } from "../../../model/written.js";
import { DEFAULTS } from "../../../state/store.js";
import { percent } from "../../../ui/format.js";
import {
  crossed,
  differing,
  forbidden,
  handed,
  later,
  linked,
  looks,
  padded,
  queryKeyProducts,
  ratio,
  unmasked,
  unscaled,
} from "./attention.js";
import { movedParts, sentences, swallowed, twins } from "./stream.js";

/**
 * @import { Token } from "../../../model/labels.js"
 * @import { Patch } from "../../../state/store.js"
 * @import { Live } from "../live.js"
 */

// Measures of what goes in and what comes out: tokens, the next token, a text that is written.

/** How many tokens a text is. @type {Measure} */
async function pieces(live, { text }) {
  const tokens = await live.pieces(text);
  const names = tokens.map(tokenLabel).join(" | ");
  return { value: tokens.length, patch: { text, ids: null }, n: tokens.length, pieces: names };
}

/** The model's first choice after a row; `target`: another than the step's. @type {Measure} */
async function next(live, { row = "last", target }) {
  const { p, first } = await live.answer(row, target === undefined ? {} : { target });
  const answer = first === live.model.special.end ? "END" : await live.nameOf(first);
  return { value: answer, answer, p: percent(p[first]) };
}

/** The probability of the first choice when its row may not attend to a key, in any layer or head. @type {Measure} */
async function cut(live, { row = "last", key }) {
  const before = await live.answer(row);
  const attentions = live.model.description.attentions;
  const open = attentions[attentions.length - 1];
  const edges = Array.from({ length: open.n_layer }, (_, layer) => ({
    attention: open.id,
    layer,
    query: before.row,
    key,
  }));
  const interventions = toggled([], edges, attentions);
  const after = await live.answer(row, { interventions });
  const left = after.p[before.first];
  const names = { answer: await live.nameOf(before.first), instead: await live.nameOf(after.first) };
  const p = percent(after.p[after.first]);
  const patch = { interventions };
  return { value: left, patch, before: percent(before.p[before.first]), after: percent(left), p, ...names };
}

/** The first choice when its row may not attend to a key, in any layer or head. @type {Measure} */
async function instead(live, options) {
  const found = await cut(live, options);
  return { ...found, value: found.instead };
}

/** How many tokens at their beginning two texts share that are written with two seeds, and how each goes on; the page then has both. @type {Measure} */
async function wrote(live, { seeds, n, temperature }) {
  /** @type {Token[][]} */
  const written = await Promise.all(seeds.map((/** @type {number} */ seed) => write(live, seed, n, temperature)));
  const prompt = (await live.tensors([])).tokens.map((/** @type {Token} */ { id }) => id);
  const patch = written
    .toReversed()
    .map((tokens) => showingIds(DEFAULTS, live.model, [...prompt, ...tokens.map(({ id }) => id)], prompt.length));
  const [a, b] = written.map((tokens) => tokens.map(({ text }) => text));
  return { ...parted(a, b), patch };
}

/** Two texts up to where they part, and from there. @param {string[]} a @param {string[]} b  their tokens */
export function parted(a, b) {
  const differ = a.findIndex((token, i) => token !== b[i]);
  const same = differ < 0 ? a.length : differ;
  const text = (/** @type {string[]} */ tokens) => tokens.join("").trim();
  return { value: same, same, shared: text(a.slice(0, same)), a: text(a.slice(same)), b: text(b.slice(same)) };
}

/** @param {Live} live @param {number} seed @param {number} n @param {number} temperature @returns {Promise<Token[]>} */
async function write({ run }, seed, n, temperature) {
  /** @type {Token[]} */
  const tokens = [];
  const settings = { seed, temperature, top_k: 20, top_p: 1, max_new_tokens: n, rows: false };
  await streamGeneration(
    { ...asked(run), ...settings },
    { onEvent: (name, data) => name === "step" && tokens.push(data.token) },
  );
  return tokens;
}

/** @type {Object<string, Measure>} */
export const LESSON_MEASURES = {
  crossed,
  cut,
  differing,
  forbidden,
  handed,
  instead,
  later,
  linked,
  looks,
  moved: movedParts,
  next,
  padded,
  pieces,
  products: queryKeyProducts,
  ratio,
  sentences,
  swallowed,
  twins,
  unmasked,
  unscaled,
  wrote,
};
