/**
 * The questions of the quiz. To add one: a file with an `Ask` (pieces.js), a line in QUESTIONS, and its place in
 * `placesOf`. A question covers what would give it away; it never changes a number.
 */

import { predictsTokens } from "../../../model/description.js";
import { own as walk } from "../../../stations/computation/own.js";
import { askAttention } from "./attention.js";
import { askClasses } from "./classes.js";
import { askMask, canAskMask } from "./mask.js";
import { askNext } from "./next.js";
import { askTemperature } from "./temperature.js";
import { askUnits } from "./units.js";

/**
 * @typedef {{name: string, how: "covers"|"beside"|"note", after?: string}} Asked  "note": covered as well, but
 *   asked elsewhere; `after`: what it would give away, if that were still open
 */

/** @type {Object<string, import("./pieces.js").Ask>} */
export const QUESTIONS = {
  next: askNext,
  classes: askClasses,
  attention: askAttention,
  mask: askMask,
  temperature: askTemperature,
  units: askUnits,
};

/** Stations, and steps of the walk, that show where the open head looks. */
const LOOKING = new Set([
  "scores",
  "weights",
  "av",
  "computation.scores",
  "computation.scale",
  "computation.mask",
  "computation.softmax",
  "computation.av",
]);
/** Those that show what comes out. */
const ENDING = new Set(["lens", "prediction", "computation.logits", "computation.answer"]);
/** What the inspector gives away while it explains something. */
const EXPLAINED = { weight: "attention", z: "attention", logit: "end" };

/**
 * The page's places, each with its current question.
 * @param {import("../../../state/store.js").State} state @param {any} model @param {string} explains  what the inspector explains meanwhile
 * @returns {Object<string, Asked|null>}
 */
export function placesOf(state, model, explains) {
  const { view } = state;
  const { step } = walk.of(state);
  const end = predictsTokens(model) ? "next" : "classes";
  const place = view === "computation" ? `computation.${step?.split(".")[1]}` : view;
  const told = LOOKING.has(place) ? "attention" : ENDING.has(place) ? end : null;
  const opened = view === "ffn" ? "units" : told;
  const explained = EXPLAINED[explains] === "end" ? end : EXPLAINED[explains];
  /** @type {Asked} */
  const ending = { name: end, how: told === end ? "note" : "covers" }; // asked once, in the larger place
  return {
    opened: opened && { name: opened, how: "covers" },
    why: explained && { name: explained, how: explained === told ? "note" : "covers" },
    next_token: predictsTokens(model) ? ending : null,
    classes: predictsTokens(model) ? null : ending,
    masks: { name: "mask", how: "beside" },
    generation: predictsTokens(model) ? { name: "temperature", how: "beside", after: "next" } : null,
  };
}

/** What the questions draw from. @param {import("../../../state/store.js").State} state @param {any} model */
export function questionNeeds(state, model) {
  const needs = ["detail"];
  if (predictsTokens(model)) needs.push("prediction");
  if (canAskMask(state)) needs.push("other");
  if (state.view === "ffn") needs.push("explain:units");
  return needs;
}
