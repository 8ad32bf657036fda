/** The answer's bars, and how the river writes its numbers. */

import { className } from "../../ui/class_name.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { namesOf, nameText } from "./names.js";

/** @typedef {import("../facts/chosen_token.js").Answer} Answer  @typedef {import("../facts/facts.js").Told} Told */

/** Whole percents, where they say enough. @param {number} p */
export const share = (p) => percent(p, p < 0.095 || (p > 0.995 && p < 1) ? 1 : 0);

/** A share between these: one number where both are written alike, otherwise "92–93 %". @param {{low: number, high: number}} between */
export function shareBetween({ low, high }) {
  const [least, most] = [share(low), share(high)];
  return least === most ? most : `${least.replace(/\s*%$/, "")}–${most}`;
}

/** @param {Answer} answer */
export const answerName = ({ token, name }) => (token ? nameText(namesOf([token])[0]) : className(String(name)));

/**
 * The first answers, and all others together. The one that the uncut run gives is always among them.
 * @param {Pick<Told, "answers"|"answersBefore"|"fall">} told @param {number} most @returns {import("../draw/scene.js").Bar[]}
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
