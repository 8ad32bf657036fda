/** The steps of the tour, at most eight for any model; their texts are `tour.<id>.title` and `tour.<id>.text`. */

import { fillsGaps, predictsTokens } from "../../model/description.js";

/**
 * @typedef {Object} Step
 * @property {string} id
 * @property {(frame: import("../../shell/frame.js").Frame) => HTMLElement} at  what it shows
 * @property {string} [view]  the station that must be open
 * @property {(model: any) => boolean} [has]  whether a model has this at all
 */

const classifies = (model) => model.description.predicts === "classes";

/** @type {Step[]} */
const STEPS = [
  { id: "sentence", at: ({ sentence }) => sentence.element },
  { id: "heads", at: ({ side }) => side.heads },
  { id: "opened", at: ({ opened }) => opened, view: "attention" },
  { id: "why", at: ({ panels }) => panels.why, view: "attention" },
  { id: "masks", at: ({ side }) => side.masks },
  { id: "next", at: ({ panels }) => panels.next_token, has: predictsTokens },
  { id: "classes", at: ({ panels }) => panels.classes, has: classifies },
  { id: "gap", at: ({ panels }) => panels.gap, has: fillsGaps },
  { id: "generation", at: ({ panels }) => panels.generation, has: predictsTokens },
  { id: "batch", at: ({ panels }) => panels.batch, has: classifies },
  { id: "ribbon", at: ({ ribbon }) => ribbon },
];

/** @param {any} model @param {import("../../shell/frame.js").Frame} frame @returns {Step[]} */
export const stepsOf = (model, frame) =>
  STEPS.filter(({ has, at }) => (has?.(model) ?? true) && at(frame).checkVisibility());
