/**
 * Two sentences in one batch: each alone, and padded to the length of the longer one, with and without the padding
 * mask. No DOM.
 */

import { answeringStack, attentionOf, overviewOf } from "../model/description.js";
import { partOf } from "../model/taps.js";
import { runOf } from "../state/run.js";
import { trace as ask } from "./api.js";
import { createLru, retrying } from "./ask.js";

/**
 * @import { Token } from "../model/labels.js"
 * @import { Run as FullRun, RunState } from "../state/run.js"
 * @import { Decoded, Tensor } from "./wire.js"
 */

/** Below this difference a padded run equals its single run: it is float32 rounding. */
export const SAME = 1e-5;

/** Answers by their requests: 4 MB each at the longest. @type {ReturnType<typeof createLru<Promise<Decoded>>>} */
const answers = createLru(12);

/**
 * @typedef {FullRun["input"]} Sentence
 * @typedef {{name: string, logit: number, probability: number}[]} Classes
 * @typedef {{classes: Classes, gaps: Gaps|null}} Run
 * @typedef {{classes: number, state: number, pattern: number, largest: number}} Gaps  to the single run, over its own tokens
 * @typedef {{tokens: Token[], pads: number, alone: Run, masked: Run|null, unmasked: Run|null}} Member
 *   `masked`, `unmasked`: null where the sentence needs no PAD
 */

/** The two sentences of a batch: what the page shows, both texts of a pair too, and a second one. @param {RunState} state @param {string} second @returns {Sentence[]} */
export const sentencesOf = (state, second) => [runOf(state).input, { text: second }];

/**
 * @param {any} model  a line of /api/models
 * @param {Sentence[]} sentences  two of them
 * @param {boolean|null} causal
 * @returns {Promise<Member[]>}
 */
export async function runBatch(model, sentences, causal) {
  const attention = attentionOf(model);
  const want = [...(attention.roles[overviewOf(attention) ?? ""]?.taps ?? []), answeringStack(model).leaves.tap];
  /** @param {Sentence} sentence @param {boolean} padding */
  const run = (sentence, padding, count = 0) => {
    const pad = count ? { pad: { count, side: "right", follow: true } } : {};
    return once({ model: model.name, input: sentence, masks: { causal, padding }, ...pad, want, dtype: "float32" });
  };
  const alone = await Promise.all(sentences.map((sentence) => run(sentence, true)));
  const length = Math.max(...alone.map(({ meta }) => meta.tokens.length));
  return Promise.all(
    alone.map(async (single, i) => {
      const pads = length - single.meta.tokens.length;
      const padded = pads ? await Promise.all([true, false].map((padding) => run(sentences[i], padding, pads))) : [];
      const [masked = null, unmasked = null] = padded.map((one) => ({
        classes: one.meta.classes,
        gaps: gapsOf(model, single, one),
      }));
      return {
        tokens: ((await padded[0]) ?? single).meta.tokens,
        pads,
        alone: { classes: single.meta.classes, gaps: null },
        masked,
        unmasked,
      };
    }),
  );
}

/** @param {object} request @returns {Promise<Decoded>} */
function once(request) {
  const key = JSON.stringify(request);
  const known = answers.get(key);
  if (known) return known;
  const answer = retrying(() => ask(request), {});
  answers.set(key, answer);
  answer.catch(() => answers.drop(key, answer));
  return answer;
}

/**
 * The largest differences on the sentence's own tokens; they come first, the PADs on the right.
 * @param {any} model @param {Decoded} single @param {Decoded} padded @returns {Gaps}
 */
function gapsOf(model, single, padded) {
  const gaps = { classes: 0, state: 0, pattern: 0 };
  /** @type {Classes} */ (single.meta.classes).forEach(({ probability }, i) => {
    gaps.classes = Math.max(gaps.classes, Math.abs(probability - padded.meta.classes[i].probability));
  });
  for (const [name, tensor] of Object.entries(single.tensors)) {
    const kind = partOf(model, name) ? "pattern" : "state";
    gaps[kind] = Math.max(gaps[kind], gapOf(tensor, padded.tensors[name], kind === "pattern"));
  }
  return { ...gaps, largest: Math.max(...Object.values(gaps)) };
}

/**
 * Row by row: a padded tensor has more rows, and if it holds weights, longer ones.
 * @param {Tensor} tensor @param {Tensor} other @param {boolean} square
 */
function gapOf({ data, shape }, other, square) {
  const [rows, width] = shape.slice(-2);
  const [otherRows, otherWidth] = other.shape.slice(-2);
  let gap = 0;
  for (let at = 0, block = 0; at < data.length; block++) {
    for (let row = 0; row < rows; row++) {
      const there = (block * otherRows + row) * (square ? otherWidth : width);
      for (let col = 0; col < width; col++, at++)
        gap = Math.max(gap, Math.abs(Number(data[at]) - Number(other.data[there + col])));
    }
  }
  return gap;
}
