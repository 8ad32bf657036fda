/** The questions of the quiz, by name: loaded with the first guess. */

import { writesTarget } from "../../../model/description.js";
import { rowOf } from "../../../model/selection.js";
import { integer, number, percent } from "../../../ui/format.js";
import { keyFor, phrase, t } from "../../../ui/i18n.js";
import { className, listedToken, namedToken } from "../../../ui/token_text.js";
import { figureText, scramble } from "../question.js";
import { askAttention, askMask } from "./attention.js";

/**
 * @import { ModelTrace } from "../../../data/model_trace.js"
 * @import { Ask } from "../question.js"
 */

// How many units of the open layer's FFN stay silent for the whole text? The wrong options are the counts of other
// layers.

/** @typedef {{stack: string, layer: number, path: string, dead: number[], fires: number[]}} Ffn  of the answer to "units" */

/** For models with too few layers: fractions of all units. */
const SHARES = [0.02, 0.3, 0.75];

/** @type {Ask} */
function askUnits(trace, state) {
  if (trace.lacks("explain:units")) return null;
  const answer = trace.explained.units;
  if (!answer) return undefined;
  if (answer.refused) return null;
  const ffns = answer.ffns.filter((/** @type {Ffn} */ { stack }) => stack === trace.attention.stack);
  const open = ffns.find((/** @type {Ffn} */ { layer }) => layer === state.layer);
  if (!open) return null;
  const [n, d_ff] = [open.dead.length, open.fires.length];
  const asked = fourOf(n, d_ff, ffns);
  const vars = () => ({ n: figureText(integer(n)), d_ff: integer(d_ff), layer: state.layer });
  return {
    key: `units ${trace.key} ${open.path}`,
    asks: phrase(keyFor(trace.model, "quiz.units.ask"), vars()),
    options: asked.map((count) => integer(count)),
    judge(choice) {
      const guessed = choice === null ? n : asked[choice];
      const owner = ffns.find((/** @type {Ffn} */ { dead }) => dead.length === guessed);
      if (guessed === n) return { right: asked.indexOf(n), says: () => phrase("quiz.units.right", vars()) };
      const key = owner ? "quiz.units.wrong_layer" : "quiz.units.wrong";
      return {
        right: asked.indexOf(n),
        says: () => phrase(key, { ...vars(), guess: integer(guessed), other: owner?.layer ?? "" }),
      };
    },
  };
}

/** The right number and three others, all far enough apart. @param {number} n @param {number} d_ff @param {Ffn[]} ffns */
function fourOf(n, d_ff, ffns) {
  const found = [n];
  for (const count of [...ffns.map(({ dead }) => dead.length), ...SHARES.map((share) => Math.round(share * d_ff))]) {
    if (found.length < 4 && found.every((one) => Math.abs(one - count) > d_ff / 25)) found.push(count);
  }
  return found.sort((a, b) => a - b);
}

// Another temperature: how does the probability of the leading candidate change? The model is asked when the guess is made.

const OPTIONS = ["rises", "falls", "stays"];
/** A smaller change is not visible in "41.2 %". */
const STAYS = 5e-4;
/** Above this probability there is nothing to guess. */
const SURE = 0.98;

/** @type {Ask} */
function askTemperature(trace, state, actions) {
  if (trace.lacks("prediction") || state.temperature === 0) return null;
  const row = rowOf(state, trace);
  const prediction = trace.predictions[row];
  if (!prediction || prediction.settings.temperature !== state.temperature) return undefined;
  const [best] = prediction.candidates;
  if (best.after > SURE) return null;
  const then = state.temperature > 0.5 ? state.temperature / 2 : state.temperature * 2;
  const shares = () => ({
    token: namedToken(best),
    p: figureText(percent(best.after)),
    t: short(state.temperature),
    u: short(then),
  });
  return {
    key: `temperature ${trace.key} ${row} ${state.temperature} ${state.topK} ${state.topP}`,
    asks: phrase("quiz.temperature.ask", shares()),
    options: OPTIONS.map((name) => t(`quiz.temperature.${name}`)),
    async judge() {
      const other = await actions.predict({ ...state, temperature: then }, row, "quiz");
      const share = other.candidates.find((/** @type {{id: number}} */ { id }) => id === best.id)?.after ?? 0;
      const right = Math.abs(share - best.after) < STAYS ? 2 : share > best.after ? 0 : 1;
      const key = right === 2 ? "same" : then < state.temperature ? "lower" : "higher";
      return {
        right,
        says: () => phrase(`quiz.temperature.${key}`, { ...shares(), q: figureText(percent(share)) }),
      };
    },
    more: { words: t("quiz.temperature.more", { u: short(then) }), patch: { temperature: then } },
  };
}

const short = (/** @type {number} */ value) => number(value, 3).replace(/\.?0+$/, "");

// Which of four candidates does the model consider most likely?

/** The ranks of the options: close enough to be a real question. */
const RANKS = [0, 1, 3, 7];

/** @type {Ask} */
function askNext(trace, state) {
  // A translation on the page already shows which token was the most likely.
  if (trace.lacks("prediction") || (writesTarget(trace.model) && trace.targetFrom === "greedy")) return null;
  const row = rowOf(state, trace);
  const prediction = trace.predictions[row];
  if (!prediction || !trace.written) return undefined;
  const { candidates } = prediction;
  const after = trace.written.tokens[row];
  const asked = RANKS.filter((rank) => rank < candidates.length).sort(
    (a, b) => scramble(candidates[a].id) - scramble(candidates[b].id),
  );
  if (asked.length < 2) return null;
  return {
    key: `next ${trace.key} ${row}`,
    asks: phrase("quiz.next.ask", { token: namedToken(after, "q") }),
    options: asked.map((rank) => listedToken(candidates[rank])),
    judge: (choice) => ({
      right: asked.indexOf(0),
      says: () => saysOf(trace, candidates, choice === null ? 0 : asked[choice]),
    }),
  };
}

/**
 * In addition to the most likely candidate: the guess, or the second.
 * @param {ModelTrace} trace @param {any[]} candidates @param {number} guessed  its rank, from 0
 */
function saysOf({ model }, candidates, guessed) {
  const rank = guessed || 1;
  const [best, other] = [candidates[0], candidates[rank]];
  const parts = {
    token: namedToken(best),
    p: figureText(percent(best.before)),
    other: namedToken(other),
    q: figureText(percent(other.before)),
  };
  return phrase("quiz.next.says", { ...parts, rank: rank + 1, vocab: integer(model.vocab_size) });
}

// Which class does a classifier give the text?

/** @type {Ask} */
function askClasses(trace) {
  const { classes } = trace;
  if (!classes || classes.length < 2) return null;
  const ranked = [...classes].sort((a, b) => b.probability - a.probability);
  return {
    key: `classes ${trace.key}`,
    asks: [t(keyFor(trace.model, "quiz.classes.ask"))],
    options: classes.map(({ name }) => className(name)),
    judge(choice) {
      const other = choice === null || classes[choice] === ranked[0] ? ranked[1] : classes[choice];
      const parts = () => ({
        name: figureText(className(ranked[0].name)),
        other: figureText(className(other.name)),
        gap: figureText(number(ranked[0].logit - other.logit, 2)),
        p: figureText(percent(ranked[0].probability)),
        q: figureText(percent(other.probability)),
      });
      return { right: classes.indexOf(ranked[0]), says: () => phrase("quiz.classes.says", parts()) };
    },
  };
}

/** @type {Object<string, Ask>} */
export const QUIZ_QUESTIONS = {
  next: askNext,
  classes: askClasses,
  attention: askAttention,
  mask: askMask,
  temperature: askTemperature,
  units: askUnits,
};
