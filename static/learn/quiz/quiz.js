/**
 * Guess before you see. Off by default. While it is on, what would answer a question is covered from the start until
 * the reader guesses or asks to see it. It only covers: it changes no number and requests nothing that a picture
 * would not need.
 */

import { lazy } from "../../data/lazily.js";
import { keyOf } from "../../data/request.js";
import { isEmpty } from "../../model/selection.js";
import { explanationOf } from "../../panels/inspector/inspector.js";
import { VIEWS } from "../../stations/index.js";
import { h, perRoot, replace, setText, svg } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { createSpot } from "./card.js";
import { questionNeeds, questionPlaces } from "./places.js";

/**
 * @import { Context, Draw } from "../../page.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Panel } from "../../stations/view.js"
 * @import { State } from "../../state/store.js"
 * @import { Answer, On } from "./card.js"
 * @import { Question } from "./questions/pieces.js"
 */

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
  frame: { place: "top", className: "quiz-bar", title: "quiz.button" },
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
  /** @type {Object<string, HTMLElement>} the places where a question can be */
  const hosts = { ...frame.panels, opened: frame.opened, masks: frame.side.masksQuiz };
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
