/** The answers in the picture: the first ones, each with its name and probability, and all others together. */

import { t } from "../../ui/i18n.js";
import { answerName } from "./names.js";
import { share } from "./numbers.js";

/**
 * @import { Answer } from "../facts/chosen_token.js"
 * @import { Facts } from "../facts/facts.js"
 */

/**
 * @typedef {{name: string, p: number, text: string, before: number|null, rest?: boolean}} Bar  one answer; `before`: without the cuts;
 *   `rest`: all others together
 */

/**
 * The first answers, and all others together. The one that the uncut run gives is always among them.
 * @param {Pick<Facts, "answers"|"answersBefore"|"fall">} facts @param {number} most @returns {Bar[]}
 */
export function barsOf({ answers, answersBefore, fall }, most) {
  const first = answers.slice(0, most);
  const lost = fall && fall.after !== null && !first.some(({ id }) => id === fall.answer.id);
  if (lost) first[most - 1] = { ...fall.answer, p: /** @type {number} */ (fall.after) };
  const before = new Map(answersBefore.map(({ id, p }) => [id, p]));
  const bars = first.map((answer) => ({
    name: answerName(answer),
    p: answer.p,
    text: share(answer.p),
    before: before.get(answer.id) ?? null,
  }));
  const rest = Math.max(0, 1 - first.reduce((sum, { p }) => sum + p, 0));
  if (!first.length || first.every(({ name }) => name !== null)) return bars;
  return [...bars, { name: t("river.others"), p: rest, text: share(rest), before: null, rest: true }];
}
