/** The sentence over the picture: what the model says, from measured numbers. */

import { h } from "../ui/dom.js";
import { phrase } from "../ui/i18n.js";
import { answerName, share } from "./answers.js";
import { nameText } from "./words.js";

/**
 * @typedef {import("./words.js").Name} Name  @typedef {import("./choice.js").Answer} Answer
 */

/** @param {Name} name */
export const query = (name) => h("b", { class: "q" }, nameText(name));
/** @param {Name} name */
export const key = (name) => h("b", { class: "looked" }, nameText(name));
/** @param {Answer} answer */
export const said = (answer) => h("b", { class: "said" }, answerName(answer));

/** @param {Name} row  the chosen token @param {Answer|undefined} answer  the first one; a model without a head has none @param {boolean} isClass @returns {(Node|string)[]} */
export function saysOf(row, answer, isClass) {
  if (!answer) return phrase("river.gathers", { token: query(row) });
  return phrase(isClass ? "river.says_class" : "river.says", {
    token: query(row),
    answer: said(answer),
    p: share(answer.p),
  });
}
