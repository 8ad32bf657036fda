/**
 * Guess before you see. Off by default. While it is on, what would answer a question is covered from the start until
 * the reader guesses or asks to see it. It only covers: it changes no number and requests nothing that a picture
 * would not need.
 */

import { keyOf } from "../../data/request.js";
import { isEmpty } from "../../model/selection.js";
import { explanationOf } from "../../panels/inspector/explanations/index.js";
import { VIEWS } from "../../stations/index.js";
import { h, replace, svg } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { questions } from "./bar.js";
import { createSpot } from "./card.js";
import { placesOf } from "./places.js";
import { addGuess } from "./score.js";

/**
 * @import { Context, Draw } from "../../page.js"
 * @import { Answer } from "./card.js"
 */

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

  /** The current questions, each once; `undefined` while the numbers belong to something else. */
  function questionsOf(trace, state) {
    const known = {};
    const fresh = trace !== null && trace.key === keyOf(state);
    return (name) => {
      if (!(name in known)) known[name] = fresh ? questions.code?.QUESTIONS[name](trace, state, actions) : undefined;
      return known[name];
    };
  }

  function draw(trace, state) {
    last = [trace, state];
    button.setAttribute("aria-pressed", String(state.quiz));
    if (!state.quiz && spots.size === 0) return;
    const places = placesOf(state, modelOf(state), explanationOf(VIEWS, state, modelOf(state))?.gives);
    const ask = questionsOf(trace, state);
    const isOpen = (name) => ask(name) !== null && !answers.has(ask(name)?.key ?? "");
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
