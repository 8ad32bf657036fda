/** The way through the page, at most eight steps for any model: its words are `tour.<id>.title` and `tour.<id>.text`. */

import { predictsTokens } from "../../model/description.js";

/**
 * @typedef {Object} Step
 * @property {string} id
 * @property {string} at  what it shows
 * @property {string} [view]  the station that must be open
 * @property {(model: any) => boolean} [has]  whether a model has this at all
 */

const classifies = (model) => !predictsTokens(model);

/** @type {Step[]} */
const STEPS = [
  { id: "sentence", at: ".sentence" },
  { id: "heads", at: '.side [data-control="heads"]' },
  { id: "opened", at: "#opened", view: "weights" },
  { id: "why", at: '[data-panel="why"]', view: "weights" },
  { id: "masks", at: '.side [data-control="masks"]' },
  { id: "next", at: '[data-panel="next_token"]', has: predictsTokens },
  { id: "classes", at: '[data-panel="classes"]', has: classifies },
  { id: "generation", at: '[data-panel="generation"]', has: predictsTokens },
  { id: "batch", at: '[data-panel="batch"]', has: classifies },
  { id: "ribbon", at: ".ribbon" },
];

/** @param {any} model @returns {Step[]} */
export const stepsOf = (model) =>
  STEPS.filter(({ has, at }) => (has?.(model) ?? true) && targetOf(at)?.checkVisibility());

/** @param {string} at @returns {HTMLElement|null} */
export const targetOf = (at) => document.querySelector(at);
