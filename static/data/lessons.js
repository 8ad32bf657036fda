/** The lessons' files (learn/lessons/): the list of lessons, and one lesson. No DOM. */

import { ApiError } from "./api.js";

/**
 * @typedef {{en: string, ja: string}} Words  of a lesson: not in the catalogue, so that a lesson is one file
 * @typedef {{word: string, also?: string[], says: string}} Said
 * @typedef {{id: string, station: string, en: Said, ja: Said}} Word  of the glossary; `station`: a name of `STATION_STATES` in learn/glossary/glossary.js
 * @typedef {{id: string, minutes: number, title: Words}} Line  of the list
 * @typedef {Object} Option
 * @property {string} [en] @property {string} [ja]
 * @property {number} [below]  right if the measured value is below this, and not below that of the option before; none: any other value
 * @property {string} [is]  right if the measured text is this
 * @typedef {Object} Question
 * @property {Words} ask @property {Option[]} options
 * @property {string} measure  what is asked of the model: a name of learn/lesson/measures/index.js
 * @property {Object<string, any>} [with]  what the measure needs
 * @property {boolean} [performs]  whether the page then shows what was measured: the `patch` of the measure, or several
 * @property {string} [figure]  drawn after the answer in the place of the step's own, with the same `with`
 * @property {Words} says  the answer, with what was measured in {braces}
 * @typedef {Object} Step
 * @property {string} id @property {Words} title  its one claim
 * @property {{en: string[], ja: string[]}} words  paragraphs
 * @property {Words} [try]  the interaction @property {Words} [then]  instead: one that would give the answer away, offered after the guess
 * @property {Object<string, any>} open  fields of the state, and `station`: a name of `STATION_STATES` in learn/glossary/glossary.js
 * @property {string[]} show  names of `ANCHORS` in learn/lesson/guide.js, or one `figure:<name>`
 * @property {boolean} [tools]  whether an open station keeps its controls
 * @property {Object<string, any>} [figure]  what the figure needs
 * @property {Question} [question]  a lesson's end has none @property {Next[]} [next]  what to do after its end
 * @property {Words} notes  for the speaker
 * @property {Words & {measure?: string, with?: Object<string, any>}} [more]  for those who read papers; folded away
 * @property {string[]} [source]  the functions of the model that do this: names of /api/source
 * @typedef {Words & {lesson?: string, drawer?: string}} Next  another lesson, or a drawer; without them, a sentence of the reader's own
 * @typedef {{id: string, minutes: number, title: Words, about: Words, steps: Step[], closing?: Step}} Lesson
 */

/** @param {string} name @returns {Promise<any>} */
async function file(name) {
  const answer = await fetch(`static/learn/${name}.json`).catch((error) => {
    throw new ApiError({ code: "unreachable", message: String(error) });
  });
  if (answer.ok) return answer.json();
  throw new ApiError({ code: answer.status >= 502 ? "unreachable" : "http", status: answer.status });
}

/** @returns {Promise<Line[]>} */
export const lessons = async () => (await file("lessons/index")).lessons;

/** @param {string} name @returns {Promise<Lesson>} */
export function lesson(name) {
  const id = /^[a-z][a-z-]*$/.test(name) ? name : "none";
  return file(`lessons/${id}`);
}

/** @returns {Promise<Word[]>} */
export const glossary = async () => (await file("glossary/words")).words;
