/** A table of trainings: what each reached on held-out text (first, so that a phone shows it), on how much, how long. */

import { h, scrolling, tableHead } from "../../ui/dom.js";
import { integer, measureName, number } from "../../ui/format.js";
import { hasString, language, t } from "../../ui/i18n.js";

/**
 * @typedef {Object} Training
 * @property {Record<string, string>} [what]  what was done, by language
 * @property {number} [minutes] @property {number} [tokens] @property {Record<string, number>} held_out
 */

/** @param {Training} training */
export const whatOf = ({ what = {} }) => what[language()] ?? what.en;

/** @param {string} name  of the table @param {(Training & {name: string})[]} trainings  each with what its row is called */
export function trainingsTable(name, trainings) {
  const names = trainings.flatMap(({ held_out }) => Object.keys(held_out));
  const measured = [...new Set(names)].filter((one) => hasString(`watched.measure.${one}`));
  const [stage, ...spending] = ["stage", "tokens", "minutes"].map((one) => t(`training.stages_${one}`));
  const rows = trainings.map(({ name: said, tokens, minutes, held_out }) => {
    const figures = measured.map((one) => (one in held_out ? figure(one, held_out[one]) : "–"));
    const spent = [tokens === undefined ? "–" : integer(tokens), minutes === undefined ? "–" : number(minutes, 1)];
    const cells = [...figures, ...spent].map((cell) => h("td", { class: "mono" }, cell));
    return h("tr", null, h("th", { scope: "row" }, said), cells);
  });
  const head = tableHead([stage, ...measured.map(measureName), ...spending]);
  return scrolling(name, h("table", { class: "token-table costs trainings" }, head, h("tbody", null, rows)));
}

/** chrF is out of 100. @param {string} name @param {number} value */
const figure = (name, value) => number(value, name.startsWith("chrf") ? 1 : 4);
