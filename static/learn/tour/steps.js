/** The steps of the tour: what the lessons do not show. At most six for any model; their texts are `tour.<id>.title` and `tour.<id>.text`. */

import { fillsGaps } from "../../model/description.js";

/** @import { Frame } from "../../shell/frame.js" */

/**
 * @typedef {Object} Step
 * @property {string} id
 * @property {(frame: Frame) => HTMLElement} at  what it shows
 * @property {string} [view]  the station that must be open
 * @property {(model: any) => boolean} [has]  whether a model has this at all
 */

const classifies = (model) => model.description.predicts === "classes";

/** @type {Step[]} */
const STEPS = [
  { id: "sentence", at: ({ sentence }) => sentence.element },
  { id: "ribbon", at: ({ ribbon }) => ribbon },
  { id: "heads", at: ({ side }) => side.heads },
  { id: "inspector", at: ({ panels }) => panels.inspector, view: "attention" },
  { id: "classes", at: ({ panels }) => panels.classes, has: classifies },
  { id: "gap", at: ({ panels }) => panels.gap, has: fillsGaps },
  { id: "batch", at: ({ panels }) => panels.batch, has: classifies },
];

/** @param {any} model @param {Frame} frame @returns {Step[]} */
export const stepsOf = (model, frame) =>
  STEPS.filter(({ has, at }) => (has?.(model) ?? true) && at(frame).checkVisibility());
