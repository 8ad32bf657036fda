/**
 * What a link has besides the run: the selection and how it is shown. The switches of a single view are not here: the
 * view declares them (view_state.js).
 */

import { choice, decimal, index, object, onOff, pair, text, whole } from "./fields.js";

// Three levels of depth: how much of the page is shown. Each level shows what the one before it shows, and more.

/** @typedef {"look"|"understand"|"everything"} Level */

/** From the newcomer's level to the whole page. @type {Level[]} */
export const LEVELS = ["look", "understand", "everything"];

/** Whether the page shows what begins at `level`. @param {{level: Level}} state @param {Level} level */
export const atLeast = (state, level) => LEVELS.indexOf(state.level) >= LEVELS.indexOf(level);

/** The page's level, or `level` if the page's shows less. @param {{level: Level}} state @param {Level} level @returns {Level} */
export const raisedTo = (state, level) => (atLeast(state, level) ? state.level : level);

/** A level from text that may be anything. @param {string|null} text @returns {Level} */
export const levelFrom = (text) => LEVELS.find((level) => level === text) ?? "look";

/** By name in the state: its name in a link, and how it is written there. */
export const PAGE_FIELDS = {
  level: /** @type {const} */ (["level", { ...choice(...LEVELS), initial: /** @type {Level} */ ("everything") }]),
  nPrompt: /** @type {const} */ (["prompt", index(null)]),
  attention: /** @type {const} */ (["attention", text(null)]),
  layer: /** @type {const} */ (["layer", index(0)]),
  head: /** @type {const} */ (["head", index(0)]),
  query: /** @type {const} */ (["query", index(null)]),
  row: /** @type {const} */ (["row", index(null)]),
  key: /** @type {const} */ (["key", index(null)]),
  view: /** @type {const} */ (["view", text("attention")]),
  cell: /** @type {const} */ (["cell", pair()]),
  ffnUnit: /** @type {const} */ (["unit_id", index(null)]),
  answer: /** @type {const} */ (["answer", index(null)]),
  quiz: /** @type {const} */ (["quiz", onOff(false)]),
  compare: /** @type {const} */ (["compare", onOff(false)]),
  against: /** @type {const} */ (["against", { ...object(), typed: true }]),
  beside: /** @type {const} */ (["beside", { ...object(), typed: true }]),
  temperature: /** @type {const} */ (["temperature", decimal(0.8, 0, 10)]),
  topK: /** @type {const} */ (["top_k", index(20)]),
  topP: /** @type {const} */ (["top_p", decimal(0.95, 0.01, 1)]),
  seed: /** @type {const} */ (["seed", index(7)]),
  lesson: /** @type {const} */ (["lesson", text(null)]),
  lessonStep: /** @type {const} */ (["step", whole(1, 1, 99)]),
};
