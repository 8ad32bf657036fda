/** Break the model, as a drawer: the puzzle, what is hidden so far, and whether it is done. */

import { attentionsOf } from "../../model/description.js";
import { rowOf } from "../../model/selection.js";
import { h, perRoot, replace, setText, update } from "../../ui/dom.js";
import { briefPercent, integer } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { GAME_MODEL, gameState } from "../view_states.js";
import { BELOW, begun, cutEdit, isPlayed, judged, LOCKED_FROM, PUZZLES, puzzleOfDay } from "./rules.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, Draw } from "../view.js"
 * @import { Puzzle } from "./rules.js"
 */

const elementsOf = perRoot((root) => {
  const button = (/** @type {string} */ name) =>
    h("button", { class: "btn", type: "button", dataset: { testid: `game-${name}` } });
  const [before, after, start, best] = ["before", "after", "start", "best"].map(button);
  const which = h("span", { class: "dim", dataset: { testid: "game-which" } });
  const link = h("a", { class: "btn", dataset: { testid: "game-link" } }, t("game.link"));
  before.append("‹");
  after.append("›");
  update(before, { "aria-label": t("game.before") });
  update(after, { "aria-label": t("game.after") });
  const bar = h(
    "div",
    { class: "bar" },
    h("h1", null, t("game.title")),
    h("span", { class: "grow" }),
    before,
    which,
    after,
  );
  const goal = h("p", { dataset: { testid: "game-goal" } });
  const said = h("h2", { role: "status", dataset: { testid: "game-said" } });
  const [problem, rules] = [
    h("p", { class: "warn", dataset: { testid: "game-problem" } }),
    h("p", { class: "rank-about dim" }),
  ];
  replace(root, bar, goal, said, problem, h("p", { class: "rank-do" }, start, best, link), rules);
  return { before, after, which, goal, said, problem, rules, start, best, link };
});

/** @typedef {ReturnType<typeof elementsOf>} Parts */

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const today = puzzleOfDay(Date.now());
  const at = (gameState.of(state).puzzle ?? today) % PUZZLES.length;
  const puzzle = PUZZLES[at];
  const go = (/** @type {number} */ n) => () =>
    actions.set({ ...begun(PUZZLES[n]), ...gameState.patch({ puzzle: n === today ? null : n }) });
  const n = PUZZLES.length;
  parts.before.onclick = go((at + n - 1) % n);
  parts.after.onclick = go((at + 1) % n);
  setText(parts.which, t(at === today ? "game.today" : "game.which", { i: at + 1, n }));
  drawGoal(parts, puzzle);
  const played = trace.model.name === GAME_MODEL && isPlayed(state, puzzle);
  setText(parts.start, t(played ? "game.again" : "game.start"));
  parts.start.onclick = () => actions.set(begun(puzzle));
  parts.best.hidden = !played;
  setText(parts.best, t("game.show", { n: puzzle.best.length }));
  parts.best.onclick = () => {
    const [{ id }] = attentionsOf(trace.model);
    actions.set({ ...begun(puzzle), interventions: puzzle.best.map((cut) => cutEdit(cut, id)) });
  };
  parts.link.href = linkTo(at, puzzle);
  drawJudged(parts, puzzle, trace, state, played);
}

/** The address of a puzzle, as it begins. @param {number} at @param {Puzzle} puzzle */
export function linkTo(at, { text }) {
  const asked = new URLSearchParams({ model: GAME_MODEL, drawer: "game", "game.puzzle": String(at) });
  return `?${asked}#${new URLSearchParams({ text })}`;
}

/** @param {Parts} parts @param {Puzzle} puzzle */
function drawGoal({ goal, rules }, { text, named, wanted }) {
  const words = {
    text: h("b", null, `${text} …`),
    answer: h("b", null, named.trim()),
    word: h("b", null, (wanted ?? "").trim()),
  };
  replace(goal, ...phrase(wanted === null ? "game.goal" : "game.goal_word", { ...words, below: briefPercent(BELOW) }));
  setText(rules, t("game.rules", { answer: named.trim(), layer: LOCKED_FROM }));
}

/** @param {Parts} parts @param {Puzzle} puzzle @param {ModelTrace} trace @param {State} state @param {boolean} played */
function drawJudged({ said, problem }, puzzle, trace, state, played) {
  said.hidden = !played;
  const row = trace.written && rowOf(state, trace);
  const last = row === puzzle.ids.length - 1;
  const candidates = last ? (trace.predictions[row]?.candidates ?? null) : null;
  const now = judged(puzzle, state.interventions, trace.model, candidates);
  const problems = [
    played && !last ? t("game.choose") : "",
    now.locked ? t("game.locked", { n: now.locked }) : "",
    now.others ? t("game.others", { n: now.others }) : "",
  ];
  setText(problem, played ? problems.filter(Boolean).join(" ") : "");
  problem.hidden = !problem.textContent;
  if (!played) return;
  update(said, { dataset: { solved: String(now.solved), n: String(now.n) } });
  setText(said, now.solved ? solvedWords(now.n, puzzle.best.length) : soFar(puzzle, now));
}

/** @param {number} n @param {number} best */
export const solvedWords = (n, best) =>
  t(n < best ? "game.record" : n === best ? "game.equal" : "game.solved", { n, best });

/** @param {Puzzle} puzzle @param {ReturnType<typeof judged>} now */
function soFar({ named }, { n, p, leads }) {
  const hidden = t("game.hidden", { n: integer(n) });
  if (p === null || !leads) return hidden;
  return `${hidden} · ${t("game.now", { answer: named.trim(), now: briefPercent(p) })}`;
}
