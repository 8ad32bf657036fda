/** The question of a step: first a guess, then what the live model says. */

import { h, replace, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { MEASURES } from "./measures/index.js";
import { rightOf } from "./steps.js";
import { filled, nodesOf, said } from "./words.js";

/**
 * @import { Next, Option, Question } from "../../data/lessons.js"
 * @import { Patch } from "../../state/store.js"
 * @import { Live } from "./live.js"
 */

/** @param {Option} option */
export const optionWords = ({ en = "", ja = en, is = en }) => said({ en: en || is, ja: ja || is });

/**
 * @param {HTMLElement} root @param {Question} question
 * @param {{live: () => Live|null, mark: (text: string) => (Node|string)[], answered: () => void,
 *   perform: (patch: Patch) => void}} on  `live` is null while its model is not here yet
 */
export function drawQuestion(root, question, { live, mark, answered, perform }) {
  const answer = h("p", { class: "lesson-answer", "aria-live": "polite", dataset: { testid: "lesson-answer" } });
  const buttons = question.options.map((option, i) =>
    h(
      "button",
      { class: "btn", type: "button", dataset: { testid: "lesson-option" }, on: { click: () => guess(i) } },
      optionWords(option),
    ),
  );
  const reveal = h(
    "button",
    { class: "btn quiet", type: "button", dataset: { testid: "lesson-reveal" }, on: { click: () => guess(null) } },
    t("lesson.reveal"),
  );
  replace(
    root,
    h("p", { class: "lesson-ask" }, nodesOf(said(question.ask), mark)),
    h("div", { class: "lesson-options", role: "group" }, buttons, reveal),
    answer,
  );

  /** @param {number|null} choice */
  async function guess(choice) {
    const asked = live();
    if (!asked) return replace(answer, t("lesson.loading"));
    for (const button of [...buttons, reveal]) button.disabled = true;
    replace(answer, t("lesson.asking", { model: asked.model.name }));
    try {
      const found = await MEASURES[question.measure](asked, question.with ?? {});
      if (!answer.isConnected) return; // another step is open: all share `root`
      const right = rightOf(question.options, found.value);
      buttons.forEach((button, i) =>
        update(button, { "data-verdict": i === right ? "right" : i === choice ? "other" : null }),
      );
      const verdict =
        choice === null ? [] : [h("b", null, t(choice === right ? "lesson.right" : "lesson.surprise")), " "];
      replace(answer, verdict, nodesOf(filled(said(question.says), found), mark));
      root.dataset.answered = String(right);
      answered();
      if (question.performs && found.patch) perform(found.patch);
    } catch (error) {
      if (!answer.isConnected) return;
      for (const button of [...buttons, reveal]) button.disabled = false;
      replace(answer, errorText(/** @type {Error} */ (error)));
    }
    answer.scrollIntoView({ block: "nearest" });
  }
  delete root.dataset.answered;
}

/**
 * The end of a lesson: what to do next.
 * @param {HTMLElement} root @param {Next[]} next @param {(lesson: string|null) => void} follow
 */
export function drawNext(root, next, follow) {
  const button = (/** @type {Next} */ { lesson, ...words }) =>
    h(
      "button",
      {
        class: "btn",
        type: "button",
        dataset: { testid: "lesson-onward" },
        on: { click: () => follow(lesson ?? null) },
      },
      said(words),
    );
  replace(
    root,
    h("p", { class: "lesson-ask" }, t("lesson.onward")),
    h("div", { class: "lesson-options", role: "group" }, next.map(button)),
  );
  delete root.dataset.answered;
}
