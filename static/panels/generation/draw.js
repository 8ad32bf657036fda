/** Generation: the sentence continues token by token, and every step can be inspected, undone or taken another way. */

import { writesTarget } from "../../model/description.js";
import { buildFold, followLevel } from "../../ui/controls.js";
import { h, keepWidth, perRoot, replace, setText, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { createBeams } from "./beams.js";
import { createCrossRow, createDrawn } from "./drawn.js";
import { createPath } from "./path.js";
import { createGenerationPlayer } from "./player.js";
import { createReach, createSampling } from "./sampling.js";
import { createSession } from "./session.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, Draw } from "../../stations/view.js"
 * @import { Path, Session } from "./session.js"
 */

// Restart, Back, Step, Keep writing or Stop. A button that cannot act says why and stays focusable, because disabling
// it would drop the keyboard's focus.

/** The longer of two words, which sets the button's width: while the button works, its word is bold. @param {string} a @param {string} b */
const longer = (a, b) => (a.length < b.length ? b : a);

/**
 * @param {Session} session
 * @param {ReturnType<typeof import("./player.js").createGenerationPlayer>} player
 */
export function createButtons(session, player) {
  /** @type {(() => void)[]} */
  const shows = [];

  /**
   * `why`: the reason why it cannot act now, or null; `face`: its word, which is also its test id; `other`: the word
   * that it changes to.
   * @param {() => string} face @param {() => string|null} why @param {() => unknown} act @param {(() => string)|null} other
   */
  function button(face, why, act, other = null) {
    const click = () => why() === null && act();
    const node = h("button", { type: "button", on: { click } });
    shows.push(() => {
      const [reason, name] = [why(), face()];
      setText(node, t(`generation.${name}`));
      update(node, { "aria-disabled": reason === null ? null : "true" });
      node.title = reason ?? t(`generation.${name}_about`);
      Object.assign(node.dataset, { act: name, testid: `gen-${name}` });
      if (other) keepWidth(node, longer(node.textContent, t(`generation.${other()}`)));
    });
    return node;
  }

  const generated = () => {
    const path = session.path();
    return path !== null && path.ids.length > path.nPrompt;
  };
  const nothing = () => (generated() ? null : t("generation.nothing"));
  const undo = (/** @type {() => false|void|undefined} */ act) => () => {
    player.pause();
    act();
  };
  const playing = () => player.doing === "play";
  const end = () => (session.blocked() ? t(`generation.${session.blocked()}`, { n: session.window() }) : null);

  const node = h(
    "div",
    { class: "seg", role: "group", "aria-label": t("generation.title") },
    button(() => "restart", nothing, undo(session.restart)),
    button(() => "back", nothing, undo(session.back)),
    button(
      () => "step",
      () => (playing() ? t("generation.is_playing") : end()),
      player.step,
    ),
    button(
      () => (playing() ? "pause" : "play"),
      () => (playing() ? null : end()),
      () => (playing() ? player.pause() : player.play()),
      () => (playing() ? "play" : "pause"),
    ),
  );
  return { node, draw: () => shows.forEach((show) => show()) };
}

const made = perRoot(() => ({ panel: /** @type {ReturnType<typeof createPanel>|null} */ (null) }));

/** @type {Draw} */
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
  const player = createGenerationPlayer(session, {
    get: actions.get,
    onChange: draw,
    isDrawn: () => !actions.isLoading(),
  });
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
    follow(/** @type {ModelTrace} */ newest) {
      trace = newest;
      session.follow(newest);
      draw();
    },
  };
}

/**
 * @typedef {{title: HTMLElement, ctl: HTMLElement, settings: HTMLElement, path: ReturnType<typeof createPath>, cross: {node: HTMLElement},
 *   drawn: {node: HTMLElement}, beams: {node: HTMLElement}, count: HTMLElement, notes: HTMLElement, problem: {node: HTMLElement}}} Layout
 * @typedef {ReturnType<typeof createGenerationPlayer>} Player
 */

/** @param {Layout} parts */
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

/** An error, shown in the panel; the path is unchanged. @param {Player} player */
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

/** "step 4 of 12, seed 7". @param {Path} path @param {Player} player @param {State} state */
function countOf({ ids, nPrompt }, player, { seed, temperature }) {
  const done = ids.length - nPrompt;
  const goal = done > 0 && done % player.length() === 0 && player.doing !== "play" ? done : player.goal();
  return t(temperature === 0 ? "generation.count_greedy" : "generation.count", { done, goal, seed });
}

/** Why there is no next token, and other remarks. @param {string|null} blocked @param {State} state @param {ModelTrace|null} trace */
function notesOf(blocked, state, trace) {
  const { model } = trace ?? {};
  const why = blocked && blocked !== "reading" ? t(`generation.${blocked}`, { n: model?.max_seq_len ?? "" }) : "";
  return [why, state.padCount ? t("generation.padded") : ""].filter(Boolean).join(" ");
}
