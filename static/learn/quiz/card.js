/** One question on the page, over or beside its covered answer; then the model's answer with its numbers. */

import { h, replace } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { Asked } from "./places.js"
 * @import { Question } from "./questions/pieces.js"
 */

/**
 * @typedef {{question: Question|null|undefined, asked: Asked|null,
 *   answer: Answer|undefined}} Shown
 * @typedef {{choice: number|null, right: number, says: (Node|string)[], closed: boolean}} Answer
 * @typedef {{guess: (question: Question, choice: number|null) => Promise<void>, close: (question: Question) => void,
 *   go: (patch: object) => void}} On
 */

/** @param {string} place @param {On} on */
export function createSpot(place, on) {
  const node = h("section", {
    class: "quiz-card",
    "aria-label": t("quiz.button"),
    dataset: { testid: `quiz-${place}` },
    hidden: true,
  });
  let drawn = "";
  return {
    /** @param {HTMLElement} host @param {Shown} shown */
    draw(host, { question, asked, answer }) {
      const mode =
        !asked || question === null
          ? "off"
          : answer
            ? asked.how === "note" || answer.closed
              ? "off"
              : "answered"
            : asked.how === "note"
              ? "note"
              : question
                ? "asks"
                : "waits";
      const covers = asked?.how !== "beside" && ["note", "asks", "waits"].includes(mode);
      host.classList.toggle("quiz-covered", covers);
      node.hidden = mode === "off" || (mode === "waits" && !covers);
      if (node.hidden) return;
      if (node.parentElement !== host) host[place === "generation" ? "append" : "prepend"](node);
      const content = `${mode} ${question?.key} ${asked?.name}`;
      if (content === drawn) return;
      drawn = content;
      node.className = `quiz-card is-${mode}`;
      if (question && mode === "asks") replace(node, asking(question, on, node));
      else if (question && answer && mode === "answered") replace(node, answered(question, answer, on));
      else replace(node, h("p", { class: "dim" }, t(mode === "note" ? `quiz.note.${asked?.name}` : "quiz.waiting")));
    },
  };
}

/** @param {Question} question @param {On} on @param {HTMLElement} node  the card */
function asking(question, on, node) {
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const choose = async (/** @type {number|null} */ choice) => {
    for (const button of node.querySelectorAll("button")) button.disabled = true;
    try {
      await on.guess(question, choice);
      /** @type {HTMLElement|null} */ (node.querySelector(".verdict-words"))?.focus({ preventScroll: true });
    } catch (error) {
      for (const button of node.querySelectorAll("button")) button.disabled = false;
      problem.hidden = false;
      replace(problem, errorText(error));
    }
  };
  /** @param {Question["options"][number]} words @param {number} i */
  const option = (words, i) =>
    h(
      "button",
      {
        class: "btn option",
        type: "button",
        dataset: { testid: "quiz-option", index: i },
        on: { click: () => choose(i) },
      },
      words,
    );
  const show = h(
    "button",
    { class: "btn quiet", type: "button", dataset: { testid: "quiz-show" }, on: { click: () => choose(null) } },
    t("quiz.show"),
  );
  return [
    h("p", { class: "ask" }, h("span", { class: "role" }, t("quiz.button")), " ", question.asks),
    h("div", { class: "options", role: "group", "aria-label": t("quiz.choose") }, question.options.map(option), show),
    problem,
  ];
}

/** @param {Question} question @param {Answer} answer @param {On} on */
function answered(question, { choice, right, says }, on) {
  const kind = choice === null ? "shown" : choice === right ? "right" : "wrong";
  const { more } = question;
  const attrs = {
    class: `verdict-words is-${kind}`,
    tabindex: -1,
    role: "status",
    dataset: { testid: "quiz-verdict", kind },
  };
  return [
    h("p", attrs, h("b", null, t(`quiz.${kind}`)), " ", says.map(copyOf)),
    more &&
      h(
        "button",
        { class: "btn", type: "button", dataset: { testid: "quiz-more" }, on: { click: () => on.go(more.patch) } },
        more.words,
      ),
    h("button", {
      class: "close-x",
      type: "button",
      "aria-label": t("quiz.close"),
      title: t("quiz.close"),
      on: { click: () => on.close(question) },
    }),
  ];
}

/** The verdict may be shown in several places, but a node can only be in one. @param {Node|string} part */
const copyOf = (part) => (part instanceof Node ? part.cloneNode(true) : part);
