/** The questions that a teacher can put to the class: of the lesson's step, of the quiz for what is shown, and the teacher's own. */

import { lesson as fetchLesson } from "../../data/lessons.js";
import { keyOf } from "../../data/request.js";
import { firstOf } from "../../data/rooms.js";
import { trainedCausal, writesTarget } from "../../model/description.js";
import { rowOf } from "../../model/selection.js";
import { plainText } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { inLanguage, LANGUAGE_SIGNS, language, t } from "../../ui/i18n.js";
import { namedToken } from "../../ui/token_text.js";
import { VIEWS } from "../../views/index.js";
import { explanationOf } from "../../views/inspector/inspector.js";
import { liveOf } from "../lesson/live.js";
import { LESSON_MEASURES } from "../lesson/measures/index.js";
import { optionWords } from "../lesson/step.js";
import { lessonSteps, rightOf, said, withMeasured } from "../lesson/steps.js";
import { canAskMask, questionPlaces, scramble } from "../quiz/question.js";
import { QUIZ_QUESTIONS } from "../quiz/questions/index.js";

/**
 * @import { Step } from "../../data/lessons.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 * @import { Language } from "../../ui/i18n.js"
 * @import { Actions } from "../../views/view.js"
 * @import { Question } from "../quiz/question.js"
 */

/**
 * A question that the model answers, in each language of the page: a pupil reads it in theirs. `covers`: the page hides
 * meanwhile what would tell the answer.
 * @typedef {{ask: string, options: string[]}} Words
 * @typedef {{right: number|null, says: Said<string>}} Judged
 * @typedef {{words: Said<Words>, judge: () => Promise<Judged>}} Put
 * @typedef {{label: string, covers: boolean, options?: string[], put: () => Promise<Put>}} Prepared  `label`: on the button that asks
 *   it; `options`: by which it is known again where its words are others
 */

/** @template T @typedef {Partial<Record<Language, T>>} Said  in this page's language, and in the others that could be fetched */

/** In every language of the page. @template T @param {() => T} say @returns {Promise<Said<T>>} */
async function inEach(say) {
  /** @type {Said<T>} */
  const all = {};
  for (const one of /** @type {Language[]} */ (Object.keys(LANGUAGE_SIGNS))) {
    try {
      all[one] = await inLanguage(one, say);
    } catch {
      // its catalogue did not come: its readers get this page's words
    }
  }
  return all;
}

/** What goes to the room: in this page's language, and `others`. @template T @param {Said<T>} all @returns {{own: T, others: Said<T>}} */
export function saidHere(all) {
  const { [language()]: own, ...others } = all;
  return { own: /** @type {T} */ (own), others: /** @type {Said<T>} */ (others) };
}

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
  return trace?.key === keyOf(state) ? ofQuiz(context, trace, state) : []; // not about the sentence before
}

/** @param {Context} context @param {State} state @returns {Promise<Prepared[]>} */
async function ofLesson(context, state) {
  const step = await stepOf(state);
  return step?.question ? [ofStep(context, step, step.question)] : [];
}

/** @param {Context} context @param {Step} step @param {NonNullable<Step["question"]>} question @returns {Prepared} */
function ofStep({ modelOf, actions }, step, question) {
  const words = () => ({
    ask: firstOf(plain(said(question.ask)), ASK),
    options: question.options.map((one) => firstOf(optionWords(one), OPTION)),
  });
  async function judge() {
    const live = liveOf(step.open, modelOf(actions.get()));
    const found = await LESSON_MEASURES[question.measure](live, question.with ?? {});
    const right = rightOf(question.options, found.value);
    const says = () => firstOf(plain(withMeasured(said(question.says), found)), ASK);
    return { right: right < 0 ? null : right, says: await inEach(says) };
  }
  const put = async () => ({ words: await inEach(words), judge });
  return { label: words().ask, covers: false, put }; // the lesson covers it itself
}

/** The speaker's notes of the lesson's step: for the teacher's eyes. @param {State} state @returns {Promise<string>} */
export async function lessonNotes(state) {
  if (state.lesson === null) return "";
  const step = await stepOf(state);
  return step ? plain(said(step.notes)) : "";
}

/** The questions of the quiz about these places, each once, and that about the mask. @param {Context} context @param {ModelTrace} trace @param {State} state @returns {Prepared[]} */
function ofQuiz({ actions, modelOf }, trace, state) {
  const model = modelOf(state);
  const places = questionPlaces(state, model, explanationOf(VIEWS, state, model)?.gives);
  const names = new Set(Object.values(places).flatMap((one) => one?.name ?? []));
  const quiz = [...names].flatMap((name) => {
    const ask = () => QUIZ_QUESTIONS[name]?.(trace, state, actions);
    const question = ask();
    return question ? [preparedOf(question, () => ask() ?? question)] : [];
  });
  return canAskRun(trace, state) ? [...quiz, ofMask(actions, trace, state)] : quiz;
}

/** @param {Question} question @param {() => Question} again  the same, in the language of the moment @returns {Prepared} */
function preparedOf(question, again) {
  const wordsOf = (/** @type {Question} */ { asks, options }) => ({
    ask: firstOf(plainText(asks), ASK),
    options: options.map((one) => firstOf(plainText([one].flat()), OPTION)),
  });
  async function judge() {
    const { right, says } = await question.judge(null);
    return { right, says: await inEach(() => firstOf(plainText(says()), ASK)) };
  }
  const put = async () => ({ words: await inEach(() => wordsOf(again())), judge });
  return { label: wordsOf(question).ask, covers: true, put };
}

// With or without the causal mask: the class hears a prediction, and says under which of the two it was made.

/** @param {ModelTrace} trace @param {State} state */
const canAskRun = (trace, state) =>
  canAskMask(state) &&
  trainedCausal(trace.model) &&
  !writesTarget(trace.model) &&
  !trace.lacks("prediction") &&
  Boolean(trace.predictions[rowOf(state, trace)] && trace.written);

/** @param {Actions} actions @param {ModelTrace} trace @param {State} state @returns {Prepared} */
function ofMask(actions, trace, state) {
  const row = rowOf(state, trace);
  const after = /** @type {any} */ (trace.written).tokens[row];
  const options = () => [t("room.mask.with"), t("room.mask.without")];
  /** Which of both runs the class hears of: by the token, so that it is the same when it is asked again. */
  const told = scramble(after.id) % 2;
  async function put() {
    const runs = /** @type {any[]} */ ([]);
    for (const causal of [true, false]) runs.push(await actions.predict({ ...state, causal }, row, "quiz"));
    const [best] = runs[told].candidates;
    const shareIn = (/** @type {any} */ run) => shareOf(run.candidates, best.id);
    if (shareIn(runs[0]) === shareIn(runs[1])) throw new Error(t("room.mask.same"));
    const parts = () => ({
      after: plainText([namedToken(after, "q")]),
      token: plainText([namedToken(best)]),
      p: shareIn(runs[0]),
      q: shareIn(runs[1]),
    });
    const ask = () => t("room.mask.ask", { ...parts(), p: shareIn(runs[told]) });
    const says = () => t(told === 0 ? "room.mask.says_with" : "room.mask.says_without", parts());
    const judge = async () => ({ right: told, says: await inEach(says) });
    return { words: await inEach(() => ({ ask: ask(), options: options() })), judge };
  }
  return { label: t("room.mask.label"), options: options(), covers: true, put };
}

/** A token's share; of one that is not among the most likely, what it is below. @param {{id: number, before: number}[]} candidates @param {number} id */
function shareOf(candidates, id) {
  const found = candidates.find((one) => one.id === id);
  return found ? percent(found.before) : t("room.mask.below", { p: percent(candidates[candidates.length - 1].before) });
}

/** The teacher's own question, typed: the options are its lines. Null: it has fewer than two. @param {string} ask @param {string} lines */
export function ownQuestion(ask, lines) {
  const options = lines.split("\n").flatMap((one) => firstOf(one.trim(), OPTION) || []);
  if (ask.trim() === "" || options.length < 2) return null;
  return { ask: firstOf(ask.trim(), ASK), options: options.slice(0, 8) };
}

/** A first proposal for a question of one's own: yes or no. */
export const YES_NO = () => `${t("room.yes")}\n${t("room.no")}`;
