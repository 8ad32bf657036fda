/** The river: the whole model as one picture. Rows are tokens, columns layers; its widths are rolled-out shares. */

import { riversOf } from "../data/river.js";
import { answeringStack, predictsTokens, writesTarget } from "../model/description.js";
import { sideOf } from "../model/sides.js";
import { perRoot, plainText, replace, setText } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { barsOf, share } from "./answers.js";
import { createBoard } from "./board.js";
import { answersOf, choosing, chosenRow } from "./choice.js";
import { layerTitle } from "./look.js";
import { buildParts } from "./parts.js";
import { rollout } from "./reach.js";
import { saysOf } from "./sentence.js";
import { drawTable } from "./table.js";
import { namesOf, nameText } from "./words.js";

/** @typedef {import("./lines.js").Line} Line  @typedef {import("./board.js").Told} Told */

/** So many answers have a bar of their own. */
const BARS = 5;

const partsOf = perRoot((root) => {
  const parts = buildParts(root);
  return { ...parts, board: createBoard(parts.board), rolled: rolledOnce() };
});

/** @type {import("../stations/index.js").View["draw"]} */
export const draw = (root, trace, state, actions) => {
  const parts = partsOf(root);
  const row = chosenRow(state, trace);
  const rolled = parts.rolled(trace, row);
  const names = rolled.map(({ river }) => namesOf(sideOf(trace.sides, river.side).tokens));
  const answers = answersOf(trace, row);
  setText(parts.about, t(aboutOf(trace.model)));
  setText(parts.legend, t(legendOf(trace, names[0]), { token: nameText(names[0][row]) }));
  say(parts.says, saysOf(names[0][row], answers[0], trace.classes !== null));
  /** @type {Told} */
  const told = { rolled, row, names, bars: barsOf(answers, BARS), tell: (line) => tell(line, names, names[0][row]) };
  parts.board.show(told, {
    choose: ({ side }, at) => {
      const patch = choosing(trace, side, at);
      if (patch) actions.set(patch);
    },
  });
  drawTable(parts.table, () => parts.board.lines().map((line) => entryOf(line, rolled, names)));
};

/** The rollout of a row, computed once for each answer and row. */
function rolledOnce() {
  let last = { route: /** @type {any} */ (null), row: -1, rolled: /** @type {import("./reach.js").Reach[]} */ ([]) };
  /** @param {import("../data/model_trace.js").ModelTrace} trace @param {number} row */
  return ({ explained: { route }, model }, row) => {
    const known = last.route === route && last.row === row;
    if (!known) last = { route, row, rolled: rollout(riversOf(route), answeringStack(model).id, row) };
    return last.rolled;
  };
}

/** Say what differs from what was said last: it is read aloud. @param {HTMLElement} says @param {(Node|string)[]} words */
function say(says, words) {
  if (plainText(words) !== says.textContent) replace(says, ...words);
}

/** @param {import("../data/model_trace.js").ModelTrace} trace @param {import("./words.js").Name[]} names */
function legendOf({ classes }, { length }) {
  if (length === 1) return "river.legend_alone";
  return classes ? "river.legend_widths_class" : "river.legend_widths";
}

/** What this model does, in a sentence. @param {any} model */
function aboutOf(model) {
  if (writesTarget(model)) return "river.about_translates";
  return predictsTokens(model) ? "river.about" : "river.about_reads";
}

/** A line in words. @param {Line} line @param {import("./words.js").Name[][]} names @param {import("./words.js").Name} row */
function tell({ layer, query, key, share: part, from, to }, names, row) {
  const vars = { layer, query: nameText(names[to][query]), key: nameText(names[from][key]) };
  return [t("river.looks", vars), t("river.share", { share: share(part), token: nameText(row) })];
}

/** @param {Line} line @param {import("./reach.js").Reach[]} rolled @param {import("./words.js").Name[][]} names */
function entryOf({ layer, query, key, share, from, to }, rolled, names) {
  const title = layerTitle(rolled[to].river, layer, false);
  return { layer: title, query: nameText(names[to][query]), key: nameText(names[from][key]), share };
}
