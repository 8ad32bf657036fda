/** The questions that a teacher can put to the class: of the lesson's step, of the quiz for what is shown, and the teacher's own. */

import { lesson as fetchLesson } from "../../data/lessons.js";
import { firstOf } from "../../data/rooms.js";
import { plainText } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { VIEWS } from "../../views/index.js";
import { explanationOf } from "../../views/inspector/inspector.js";
import { liveOf } from "../lesson/live.js";
import { LESSON_MEASURES } from "../lesson/measures/index.js";
import { optionWords } from "../lesson/step.js";
import { lessonSteps, rightOf, said, withMeasured } from "../lesson/steps.js";
import { questionPlaces } from "../quiz/question.js";
import { QUIZ_QUESTIONS } from "../quiz/questions/index.js";

/**
 * @import { Step } from "../../data/lessons.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 * @import { Question } from "../quiz/question.js"
 */

/**
 * A question that the model answers. `covers`: the page hides meanwhile what would tell the answer.
 * @typedef {{ask: string, options: string[], covers: boolean, judge: () => Promise<{right: number|null, says: string}>}} Prepared
 */

/** @type {Map<string, ReturnType<typeof fetchLesson>>} */
const lessonsHere = new Map();

/** The step of the lesson that is open. @param {State} state @returns {Promise<Step|undefined>} */
async function stepOf({ lesson, lessonStep }) {
  const name = String(lesson);
  const coming = lessonsHere.get(name) ?? fetchLesson(name);
  lessonsHere.set(name, coming);
  try {
    return lessonSteps(await coming)[lessonStep - 1];
  } catch (error) {
    lessonsHere.delete(name);
    throw error;
  }
}

/** Without the stars of *emphasis*. @param {string} text */
const plain = (text) => text.replace(/\*([^*]+)\*/g, "$1");

/** The most characters that the server takes. */
const [ASK, OPTION] = [600, 200];

/**
 * What can be asked about what the page shows.
 * @param {Context} context @param {ModelTrace|null} trace @param {State} state @returns {Promise<Prepared[]>}
 */
export async function preparedQuestions(context, trace, state) {
  if (state.lesson !== null) return ofLesson(context, state);
  return trace ? ofQuiz(context, trace, state) : [];
}

/** @param {Context} context @param {State} state @returns {Promise<Prepared[]>} */
async function ofLesson({ modelOf, actions }, state) {
  const step = await stepOf(state);
  const question = step?.question;
  if (!step || !question) return [];
  return [
    {
      ask: firstOf(plain(said(question.ask)), ASK),
      options: question.options.map((one) => firstOf(optionWords(one), OPTION)),
      covers: false, // the lesson covers it itself
      async judge() {
        const live = liveOf(step.open, modelOf(actions.get()));
        const found = await LESSON_MEASURES[question.measure](live, question.with ?? {});
        const right = rightOf(question.options, found.value);
        return { right: right < 0 ? null : right, says: firstOf(plain(withMeasured(said(question.says), found)), ASK) };
      },
    },
  ];
}

/** The speaker's notes of the lesson's step: for the teacher's eyes. @param {State} state @returns {Promise<string>} */
export async function lessonNotes(state) {
  if (state.lesson === null) return "";
  const step = await stepOf(state);
  return step ? plain(said(step.notes)) : "";
}

/** The questions of the quiz about these places, each once. @param {Context} context @param {ModelTrace} trace @param {State} state @returns {Prepared[]} */
function ofQuiz({ actions, modelOf }, trace, state) {
  const model = modelOf(state);
  const places = questionPlaces(state, model, explanationOf(VIEWS, state, model)?.gives);
  const names = new Set(Object.values(places).flatMap((one) => one?.name ?? []));
  return [...names].flatMap((name) => {
    const question = QUIZ_QUESTIONS[name]?.(trace, state, actions);
    return question ? [preparedOf(question)] : [];
  });
}

/** @param {Question} question @returns {Prepared} */
const preparedOf = ({ asks, options, judge }) => ({
  ask: firstOf(plainText(asks), ASK),
  options: options.map((one) => firstOf(plainText([one].flat()), OPTION)),
  covers: true,
  async judge() {
    const { right, says } = await judge(null);
    return { right, says: firstOf(plainText(says), ASK) };
  },
});

/** The teacher's own question, typed: the options are its lines. Null: it has fewer than two. @param {string} ask @param {string} lines */
export function ownQuestion(ask, lines) {
  const options = lines.split("\n").flatMap((one) => firstOf(one.trim(), OPTION) || []);
  if (ask.trim() === "" || options.length < 2) return null;
  return { ask: firstOf(ask.trim(), ASK), options: options.slice(0, 8) };
}

/** A first proposal for a question of one's own: yes or no. */
export const YES_NO = () => `${t("room.yes")}\n${t("room.no")}`;
