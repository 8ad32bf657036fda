/** Generation: the sentence continues token by token, and every step can be inspected, undone or taken another way. */

import { writesTarget } from "../../model/description.js";
import { buildFold, followLevel } from "../../ui/controls.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { createBeams } from "./beams.js";
import { createButtons } from "./buttons.js";
import { createCrossRow } from "./cross.js";
import { createDrawn } from "./drawn.js";
import { createPath } from "./path.js";
import { createPlayer } from "./player.js";
import { createReach } from "./reach.js";
import { createSampling } from "./sampling.js";
import { createSession } from "./session.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Actions } from "../../stations/index.js"
 */

const made = perRoot(() => ({ panel: /** @type {ReturnType<typeof createPanel>|null} */ (null) }));

export function draw(root, trace, state, actions) {
  const slot = made(root);
  slot.panel ??= createPanel(root, actions);
  slot.panel.follow(trace);
}

/** @param {HTMLElement} root @param {Actions} actions */
function createPanel(root, actions) {
  /** @type {ModelTrace|null} */
  let trace = null;
  const session = createSession(actions);
  const player = createPlayer(session, { get: actions.get, onChange: draw, isDrawn: () => !actions.isLoading() });
  const parts = {
    buttons: createButtons(session, player),
    sampling: createSampling(actions),
    reach: createReach(actions),
    path: createPath(session, player, actions),
    cross: createCrossRow(session, actions),
    drawn: createDrawn(session),
    beams: createBeams(session, actions),
    title: h("span", { class: "nowrap" }),
    count: h("span", { class: "dim", dataset: { testid: "gen-count" } }),
    notes: h("p", { class: "note", dataset: { testid: "gen-note" } }),
    problem: createProblem(player),
  };
  const settings = buildFold(
    "sampling",
    t("generation.settings"),
    h("div", { class: "ctl" }, parts.sampling.nodes, parts.reach.nodes),
  );
  const ctl = h("div", { class: "ctl" });
  replace(root, layout({ ...parts, ctl, settings }));

  function draw() {
    const state = actions.get();
    followLevel(settings, state);
    const place = state.lesson ? ctl : actions.steps; // a lesson shows this panel without the sentence
    if (parts.buttons.node.parentElement !== place) replace(place, parts.buttons.node);
    const path = session.path();
    const translates = writesTarget(trace?.model);
    setText(parts.title, t(translates ? "generation.title_target" : "generation.title"));
    if (path) setText(parts.count, countOf(path, player, state));
    for (const part of [parts.buttons, parts.sampling, parts.reach, parts.path, parts.problem]) part.draw(state);
    for (const part of [parts.cross, parts.drawn, parts.beams]) part.draw(trace, state);
    setText(parts.notes, notesOf(session.blocked(), state, trace));
    parts.notes.hidden = parts.notes.textContent === "";
  }

  return {
    follow(newest) {
      trace = newest;
      session.follow(newest);
      draw();
    },
  };
}

function layout({ title, ctl, settings, path, cross, drawn, beams, count, notes, problem }) {
  return [
    h("h2", null, title, count),
    ctl,
    settings,
    problem.node,
    path.strip,
    notes,
    cross.node,
    drawn.node,
    path.branches,
    beams.node,
  ];
}

/** An error, shown in the panel; the path is unchanged. */
function createProblem(player) {
  const text = h("span");
  const attrs = { class: "btn", type: "button", dataset: { testid: "gen-retry" } };
  const retry = h("button", { ...attrs, on: { click: player.retry } }, t("generation.retry"));
  const node = h("p", { class: "problem", role: "alert", dataset: { testid: "gen-problem" } }, text, " ", retry);
  const draw = () => {
    const { error } = player;
    node.hidden = error === null;
    retry.hidden = player.doing !== "idle"; // it tries again by itself
    if (error) setText(text, problemText(error));
  };
  return { node, draw };
}

/** Temporary errors have their own text. @param {any} error */
function problemText(error) {
  if (error.code === "unreachable") return t("generation.unreachable");
  return error.status === 503 ? t("generation.full") : errorText(error);
}

/** "step 4 of 12, seed 7". */
function countOf({ ids, nPrompt }, player, { seed, temperature }) {
  const done = ids.length - nPrompt;
  const goal = done > 0 && done % player.length() === 0 && player.doing !== "play" ? done : player.goal();
  return t(temperature === 0 ? "generation.count_greedy" : "generation.count", { done, goal, seed });
}

/** Why there is no next token, and other remarks. */
function notesOf(blocked, state, trace) {
  const { model } = trace ?? {};
  const why = blocked && blocked !== "reading" ? t(`generation.${blocked}`, { n: model?.max_seq_len ?? "" }) : "";
  return [why, state.padCount ? t("generation.padded") : ""].filter(Boolean).join(" ");
}
