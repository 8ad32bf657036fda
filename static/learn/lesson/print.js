/** A lesson on paper: every step with its words and its question; with the speaker's notes, where they are open. */

import { h, replace } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { optionWords } from "./question.js";
import { stepsOf } from "./steps.js";
import { nodesOf, said } from "./words.js";

/** @import { Lesson, Step } from "../../data/lessons.js" */

/** @param {HTMLElement} root @param {Lesson} lesson @param {boolean} noted */
export function drawPaper(root, lesson, noted) {
  replace(
    root,
    h("h1", null, said(lesson.title)),
    h("p", null, said(lesson.about)),
    stepsOf(lesson).map((step, i) => {
      const number = step === lesson.closing ? "" : `${i + 1}. `;
      return stepOf(step, number, `${location.origin}/?lesson=${lesson.id}&step=${i + 1}`, noted);
    }),
  );
}

/** @param {Step} step @param {string} number @param {string} link @param {boolean} noted */
function stepOf({ title, words, try: first, then, question, notes }, number, link, noted) {
  const trying = first ?? then;
  return h(
    "article",
    null,
    h("h2", null, number + said(title)),
    said(words).map((text) => h("p", null, nodesOf(text))),
    trying && h("p", null, h("b", null, t("lesson.try")), " ", nodesOf(said(trying))),
    question && [
      h("p", null, h("b", null, t("lesson.question")), " ", nodesOf(said(question.ask))),
      h(
        "ul",
        null,
        question.options.map((option) => h("li", null, optionWords(option))),
      ),
    ],
    noted && h("p", { class: "lesson-paper-notes" }, h("b", null, t("lesson.notes_title")), " ", nodesOf(said(notes))),
    h("p", { class: "dim" }, link),
  );
}
