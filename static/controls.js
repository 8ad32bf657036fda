/**
 * The controls of a page, in the order in which they are drawn. Each is made once from the page's context, and drawn at
 * every change.
 *
 */

import { createHelp } from "./learn/help.js";
import { createLessons } from "./learn/lesson/control.js";
import { createQuiz } from "./learn/quiz/quiz.js";
import { createReading } from "./learn/reading.js";
import { createHeads } from "./panels/heads/heads.js";
import { createMasks } from "./panels/masks.js";
import { createCaption } from "./shell/caption.js";
import { createExamples } from "./shell/examples.js";
import { createFullScreen } from "./shell/full_screen.js";
import { createHeader } from "./shell/header.js";
import { createLevels } from "./shell/level_switch.js";
import { createOpen } from "./shell/open.js";
import { createRibbon } from "./shell/ribbon.js";
import { createSentence } from "./shell/sentence/sentence.js";

/** @import { Context, Draw } from "./page.js" */

/** @param {Context} context @returns {Draw} */
const createHeadsPanel = ({ frame, actions }) =>
  whileShown(frame.body, createHeads(frame.side.heads, actions, frame.opened));

/** @type {((context: Context) => Draw)[]} */
export const CONTROLS = [
  createOpen,
  createLevels,
  createHeader,
  createSentence,
  createExamples,
  createCaption,
  createRibbon,
  createHeadsPanel,
  ({ frame, actions, modelOf }) => createMasks(frame.side.masks, actions, modelOf),
  createLessons,
  createFullScreen,
  createHelp,
  createQuiz,
  createReading,
];

/** Draws only what can be seen: what is hidden has no size. @param {HTMLElement} element @param {Draw} draw @returns {Draw} */
function whileShown(element, draw) {
  return (trace, state, error) => {
    if (!element.hidden) draw(trace, state, error);
  };
}

/** The controls of a page of pictures alone. */
export const OF_PICTURES = [createLevels, createHeadsPanel];
