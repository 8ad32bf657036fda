/**
 * The page's own controls: made once, drawn at every change with the trace that is there (null: none yet). They are drawn
 * before new data arrives, so what was chosen is lit at once.
 *
 * @typedef {Object} Context
 * @property {import("./stations/index.js").Actions} actions
 * @property {any[]} models  the lines of /api/models
 * @property {any} examples  static/examples.json
 * @property {(state: import("./state/store.js").State) => any} modelOf  the model of what is shown, of a file too
 * @property {import("./stations/index.js").View[]} views
 * @property {{flush: () => void}} url
 * @property {ReturnType<typeof import("./shell/status.js").createStatus>} status
 * @property {ReturnType<typeof import("./shell/file_mode.js").createFileMode>} files
 * @property {() => void} chooseFile  set by open.js
 *
 * @typedef {(trace: import("./data/model_trace.js").ModelTrace|null, state: import("./state/store.js").State,
 *   error: import("./data/api.js").ApiError|null) => void} Draw
 */

import { createHelp } from "./learn/help.js";
import { createQuiz } from "./learn/quiz/quiz.js";
import { createReading } from "./learn/reading.js";
import { createTour } from "./learn/tour/tour.js";
import { createHeads } from "./panels/heads/heads.js";
import { createMasks } from "./panels/masks/panel.js";
import { createExamples } from "./shell/examples.js";
import { createHeader } from "./shell/header.js";
import { createOpen } from "./shell/open.js";
import { createRibbon } from "./shell/ribbon.js";
import { createSentence } from "./shell/sentence/sentence.js";

const CONTROLS = {
  open: createOpen,
  header: createHeader,
  sentence: createSentence,
  examples: createExamples,
  ribbon: createRibbon,
  heads: createHeads,
  masks: createMasks,
  help: createHelp,
  tour: createTour,
  quiz: createQuiz,
  reading: createReading, // everywhere on the page: it has no element of its own
};

/** @param {Context} context @returns {{draw: Draw}} */
export function createControls(context) {
  const draws = Object.entries(CONTROLS).map(([name, create]) =>
    create(/** @type {any} */ (document.querySelector(`[data-control="${name}"]`)), context),
  );
  return {
    draw(trace, state, error) {
      for (const draw of draws) draw(trace, state, error);
    },
  };
}
