/**
 * What a link has besides the run: the selection and how it is shown. The switches of a single view are not here: the
 * view declares them (view_state.js).
 */

import { decimal, index, list, object, onOff, pair, text, typed, whole } from "./fields.js";
import { isIntervention } from "./run.js";

/** @import { Intervention } from "./run.js" */

/** @param {any} one @returns {one is {at: number, edit: Intervention}} */
const isPaused = (one) => Number.isInteger(one?.at) && isIntervention(one.edit);

/** The sampling settings, by their names in the state. */
export const SAMPLING = /** @type {const} */ ([
  "temperature",
  "topK",
  "topP",
  "minP",
  "penalty",
  "banned",
  "stop",
  "begin",
  "seed",
]);

/** As in app/api/schema.py. */
const [LONGEST_TEXT, MOST_TEXTS] = [100, 50];

/** @param {any} one @returns {one is string} */
const isText = (one) => typeof one === "string" && one !== "" && [...one].length <= LONGEST_TEXT;

/** Short texts, in JSON. */
const texts = () => {
  const all = list(isText);
  return {
    ...all,
    read: (/** @type {string} */ text) => all.read(text)?.slice(0, MOST_TEXTS),
    typed: /** @type {const} */ (true),
  };
};

/** By name in the state: its name in a link, and how it is written there. */
export const PAGE_FIELDS = {
  nPrompt: /** @type {const} */ (["prompt", index(null)]),
  attention: /** @type {const} */ (["attention", text(null)]),
  layer: /** @type {const} */ (["layer", index(0)]),
  head: /** @type {const} */ (["head", index(0)]),
  query: /** @type {const} */ (["query", index(null)]),
  row: /** @type {const} */ (["row", index(null)]),
  key: /** @type {const} */ (["key", index(null)]),
  paused: /** @type {const} */ (["paused", { ...list(isPaused), typed: true }]), // a patch has a text
  view: /** @type {const} */ (["view", text("model")]),
  drawer: /** @type {const} */ (["drawer", text(null)]),
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
  minP: /** @type {const} */ (["min_p", decimal(0, 0, 1)]),
  penalty: /** @type {const} */ (["repetition_penalty", decimal(1, 0.1, 10)]),
  banned: /** @type {const} */ (["banned", texts()]),
  stop: /** @type {const} */ (["stop", texts()]),
  begin: /** @type {const} */ (["begin", typed("")]),
  seed: /** @type {const} */ (["seed", index(7)]),
  lesson: /** @type {const} */ (["lesson", text(null)]),
  lessonStep: /** @type {const} */ (["step", whole(1, 1, 99)]),
};
