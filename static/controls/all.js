/**
 * The page's own controls: made once, drawn at every change with the trace that is there (null: none yet). They are drawn
 * before new data arrives, so what was chosen is lit at once.
 *
 * @typedef {Object} Context
 * @property {import("../views/index.js").Actions} actions
 * @property {any[]} models  the lines of /api/models
 * @property {any} examples  static/examples.json
 * @property {(state: import("../state.js").State) => any} modelOf  the model of what is shown, of a file too
 * @property {import("../views/index.js").View[]} views
 * @property {{flush: () => void}} url
 * @property {ReturnType<typeof import("./status.js").createStatus>} status
 * @property {ReturnType<typeof import("../file_mode.js").createFileMode>} files
 * @property {() => void} chooseFile  set by open.js
 *
 * @typedef {(trace: import("../data/model_trace.js").ModelTrace|null, state: import("../state.js").State,
 *   error: import("../data/api.js").ApiError|null) => void} Draw
 */

import { createExamples } from "./examples.js";
import { createHeader } from "./header.js";
import { createHeads } from "./heads.js";
import { createHelp } from "./help.js";
import { createMasks } from "./masks.js";
import { createOpen } from "./open.js";
import { createQuiz } from "./quiz.js";
import { createReading } from "./reading.js";
import { createRibbon } from "./ribbon.js";
import { createSentence } from "./sentence.js";
import { createTour } from "./tour.js";

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
