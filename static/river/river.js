/** The river of one page: shows what is told of the newest trace, and again whenever more is measured. */

import { toggled, uncut } from "../model/cuts.js";
import { plainText, replace, setText, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { barsOf } from "./answers.js";
import { createBoard } from "./board.js";
import { choosing } from "./choice.js";
import { looksAt } from "./edges.js";
import { createMeasuring } from "./measuring.js";
import { sentenceOf } from "./sentence.js";
import { drawTable } from "./table.js";
import { aboutOf, entryOf, legendOf, lineWords, placeWords } from "./tell.js";
import { rolledOnce, toldOf } from "./told.js";

/** @typedef {{trace: import("../data/model_trace.js").ModelTrace, state: import("../state/store.js").State, actions: import("../stations/index.js").Actions}} Now */

/** So many answers have a bar of their own. */
const BARS = 5;

/** @param {ReturnType<typeof import("./parts.js").buildParts>} parts */
export function createRiver(parts) {
  const board = createBoard(parts.board);
  const rolls = { rolled: rolledOnce(), before: rolledOnce() };
  const measuring = createMeasuring(soon);
  let now = /** @type {Now|null} */ (null);
  let frame = 0;

  /** Effects come many at a time. */
  function soon() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(render);
  }

  function render() {
    if (!now) return;
    const { trace, state } = now;
    const told = toldOf(trace, state, rolls, measuring);
    const isClass = trace.classes !== null;
    const cuttable = told.measured !== null;
    setText(parts.about, aboutOf(trace.model));
    setText(parts.legend, legendOf(told, isClass, cuttable));
    say(parts.says, sentenceOf(told, isClass));
    update(parts.restore, { hidden: !told.cuts.length });
    setText(parts.restore, t("river.restore", { n: told.cuts.length }));
    parts.restore.onclick = () => now?.actions.set({ interventions: uncut(now.state.interventions) });
    board.show({ told, bars: barsOf(told, BARS) }, actionsOf(now, told, cuttable));
    drawTable(parts.table, () => board.lines().map((line) => entryOf(told, line)));
  }

  return {
    /** @param {Now} newest */
    show(newest) {
      now = newest;
      render();
    },

    /** It is not shown: nothing is measured. */
    rest() {
      now = null;
      measuring.stop();
    },
  };
}

/** @param {Now} now @param {import("./told.js").Told} told @param {boolean} cuttable @returns {import("./board.js").Actions} */
function actionsOf({ trace, actions }, told, cuttable) {
  /** @param {import("../model/cuts.js").Edge[]} edges */
  const toggle = (edges) =>
    edges.length && actions.set({ interventions: toggled(actions.get().interventions, edges, trace.attentions) });
  return {
    choose({ side }, token) {
      const patch = choosing(trace, side, token);
      if (patch) actions.set(patch);
    },
    cut: cuttable ? (line) => toggle([line]) : null,
    cutAll: ({ side }, token) => cuttable && toggle(looksAt(told.before?.[0] ?? told.rolled[0], told.row, side, token)),
    tell: (line) => lineWords(told, line),
    read: (scene, place) => placeWords(told, scene, place),
  };
}

/** Say what differs from what was said last: it is read aloud. @param {HTMLElement} says @param {(Node|string)[]} words */
function say(says, words) {
  if (plainText(words) !== says.textContent) replace(says, ...words);
}
