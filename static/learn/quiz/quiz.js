/**
 * Guess before you see. Off by default. While it is on, what would answer a question is covered from the start until
 * the reader guesses or asks to see it. It only covers: it changes no number and requests nothing that a picture
 * would not need.
 */

import { lazy } from "../../data/lazily.js";
import { keyOf } from "../../data/request.js";
import { isEmpty } from "../../model/selection.js";
import { h, perRoot, replace, setText, svg } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { VIEWS } from "../../views/index.js";
import { explanationOf } from "../../views/inspector/inspector.js";
import { questionNeeds, questionPlaces } from "./question.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Context, Draw } from "../../page.js"
 * @import { State } from "../../state/store.js"
 * @import { Panel } from "../../views/view.js"
 * @import { Asked, Question, Verdict } from "./question.js"
 */

// One question on the page, over or next to its covered answer; then the model's answer with its numbers.

/**
 * @typedef {{question: Question|null|undefined, asked: Asked|null,
 *   answer: Answer|undefined}} Shown
 * @typedef {{choice: number|null, right: number, says: Verdict["says"], closed: boolean}} Answer
 * @typedef {{guess: (question: Question, choice: number|null) => Promise<void>, close: (question: Question) => void,
 *   go: (patch: object) => void}} On
 */

/** @param {string} place @param {On} on */
function createSpot(place, on) {
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
    h("p", attrs, h("b", null, t(`quiz.${kind}`)), " ", says()),
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

/** The guesses of this visit, kept in the tab only. */
const NAME = "chumoku.quiz";

/** If the tab stores nothing, it lasts as long as the page. @type {string|null} */
let here = null;
/** @type {(() => void)[]} */
const listeners = [];

/** @returns {{right: number, n: number}} */
function scoreNow() {
  try {
    const { right, n } = JSON.parse(stored() ?? "{}");
    return Number.isInteger(right) && Number.isInteger(n) ? { right, n } : { right: 0, n: 0 };
  } catch {
    return { right: 0, n: 0 };
  }
}

/** @param {boolean} right */
function addGuess(right) {
  const before = scoreNow();
  const score = JSON.stringify({ right: before.right + (right ? 1 : 0), n: before.n + 1 });
  try {
    sessionStorage.setItem(NAME, score);
  } catch {
    here = score;
  }
  for (const listener of listeners) listener();
}

/** @param {() => void} listener */
const onScore = (listener) => listeners.push(listener);

function stored() {
  try {
    return here ?? sessionStorage.getItem(NAME);
  } catch {
    return here;
  }
}

// The line above the panels while the quiz is on: what it does, the score, and how to end it.

/** What is asked; until it is here, the covers wait. */
const questions = lazy(() => import("./questions/index.js"));

const elementsOf = perRoot((root) => {
  const score = h("b", { dataset: { testid: "quiz-score" } });
  const end = h("button", { class: "btn quiet", type: "button", dataset: { testid: "quiz-end" } }, t("quiz.end"));
  const show = () => {
    const { right, n } = scoreNow();
    setText(score, n ? t("quiz.score", { right, of: n }) : "");
  };
  onScore(show);
  show();
  replace(root, h("span", null, t("quiz.on")), " ", score, h("span", { class: "grow" }), end);
  return { end };
});

/** @type {Panel} */
export default {
  id: "quiz",
  frame: { place: "home", className: "quiz-bar", title: "quiz.button" },
  shown: ({ quiz }) => quiz,
  needs: questionNeeds,
  load: questions.load,
  draw(root, trace, state, actions) {
    elementsOf(root).end.onclick = () => actions.set({ quiz: false });
  },
};

/** @param {Context} context @returns {Draw} */
export function createQuiz({ actions, modelOf, frame }) {
  const button = frame.header.quiz;
  const { dock, opened, masks } = frame;
  /** @type {Object<string, HTMLElement>} the places where a question can be */
  const hosts = { ...frame.panels, dock, opened, masks: masks.quiz, generation: masks.quiz };
  /** @type {Map<string, Answer>} by the key of the question: what was guessed stays open */
  const answers = new Map();
  /** @type {Map<string, ReturnType<typeof createSpot>>} */
  const spots = new Map();
  let last = /** @type {[any, any]|null} */ (null);
  const redraw = () => last && draw(...last);

  /** @type {On} */
  const on = {
    async guess(question, choice) {
      const { right, says } = await question.judge(choice);
      if (choice !== null && !answers.has(question.key)) addGuess(choice === right);
      answers.set(question.key, { choice, right, says, closed: false });
      redraw();
    },
    close(question) {
      const answer = answers.get(question.key);
      if (answer) answer.closed = true;
      redraw();
    },
    go: actions.set,
  };

  /**
   * The current questions, each once; `undefined` while the numbers belong to something else.
   * @param {ModelTrace|null} trace @param {State} state
   */
  function questionsOf(trace, state) {
    /** @type {Object<string, Question|null|undefined>} */
    const known = {};
    const fresh = trace !== null && trace.key === keyOf(state);
    return (/** @type {string} */ name) => {
      if (!(name in known))
        known[name] = fresh ? questions.code?.QUIZ_QUESTIONS[name](trace, state, actions) : undefined;
      return known[name];
    };
  }

  /** @param {ModelTrace|null} trace @param {State} state */
  function draw(trace, state) {
    last = [trace, state];
    button.setAttribute("aria-pressed", String(state.quiz));
    if (!state.quiz && spots.size === 0) return;
    const places = questionPlaces(state, modelOf(state), explanationOf(VIEWS, state, modelOf(state))?.gives);
    const ask = questionsOf(trace, state);
    const isOpen = (/** @type {string} */ name) => ask(name) !== null && !answers.has(ask(name)?.key ?? "");
    const open = new Set();
    for (const [place, asked] of Object.entries(places)) {
      const host = hosts[place];
      if (!spots.has(place)) spots.set(place, createSpot(place, on));
      const question = state.quiz && asked && !(asked.after && isOpen(asked.after)) ? ask(asked.name) : null;
      const answer = question ? answers.get(question.key) : undefined;
      if (asked && question !== null && !answer) open.add(asked.name);
      spots.get(place)?.draw(host, { question, asked, answer });
    }
    frame.root.dataset.quiz = [...open].join(" "); // the styles cover whatever else would reveal the answer
  }

  replace(button, icon(), h("span", { class: "word" }, t("quiz.button")));
  button.title = t("quiz.about");
  button.addEventListener("click", () => actions.set({ quiz: !actions.get().quiz }));
  return (trace, state) => !isEmpty(state) && draw(trace, state);
}

/** A card with a question on it. */
const icon = () =>
  svg(
    "svg",
    { viewBox: "0 0 16 16", class: "sign", "aria-hidden": "true" },
    svg("path", { d: "M2 2.5h12v11H2zM6 6.2C6 3.6 10 3.8 10 6.2 10 7.7 8 7.6 8 9.2M8 11.2v.1" }),
  );
