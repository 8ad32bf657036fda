/** Generation: the sentence continues token by token, and every step can be inspected, undone or taken another way. */

import { buildFold } from "../../ui/controls.js";
import { h, perRoot, replace, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { createBeams } from "./beams.js";
import { createRestart, createSheetTabs } from "./buttons.js";
import { createCrossRow, createDrawn } from "./drawn.js";
import { writerOf } from "./player.js";
import { createTree } from "./tree.js";
import { createTreeTools } from "./tree_tools.js";
import { createTwoSettings } from "./two_settings.js";
import { createWays } from "./ways.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, Draw } from "../view.js"
 * @import { Player } from "./buttons.js"
 * @import { Path } from "./session.js"
 */

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
  const { session, player, onChange } = writerOf(actions);
  onChange(draw);
  const tree = createTree(session, player, actions);
  const ways = createWays(session, player, actions);
  const restart = createRestart(session, player);
  const parts = {
    tree,
    tabs: createSheetTabs("generation", actions),
    tools: createTreeTools(session, actions, tree.zooms, { ways, restart: restart.node }),
    cross: createCrossRow(session, actions),
    drawn: createDrawn(session, player),
    beams: createBeams(session, actions),
    two: createTwoSettings(session, player, actions),
    count: h("span", { class: "dim count", dataset: { testid: "gen-count" } }),
    notes: h("p", { class: "note", dataset: { testid: "gen-note" } }),
  };
  replace(root, layout(parts));

  function draw() {
    const state = actions.get();
    const path = session.path();
    if (path) sayCount(parts.count, path, player);
    restart.draw();
    ways.draw(state);
    for (const part of [tree, parts.cross, parts.drawn, parts.two, parts.beams]) part.draw(trace, state);
    parts.tools.draw();
    tree.offer(ways.button, parts.tools.ways);
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
 * @typedef {{tabs: HTMLElement, tree: {node: HTMLElement}, tools: {node: HTMLElement, hints: HTMLElement[], more: HTMLElement[]}, cross: {node: HTMLElement},
 *   drawn: {how: HTMLElement, line: HTMLElement, looks: HTMLElement}, two: {node: HTMLElement}, beams: {node: HTMLElement}, count: HTMLElement, notes: HTMLElement}} Layout
 */

/** @param {Layout} parts */
function layout({ tabs, tree, tools, cross, drawn, two, beams, count, notes }) {
  const title = h("h2", null, t("tree.title"));
  const head = h("div", { class: "written-head" }, tabs, title, tools.hints, tools.node);
  const named = h("span", { title: t("tree.more_about") }, t("tree.more"));
  const more = buildFold("writing", named, drawn.looks, tools.more, two.node, beams.node);
  more.addEventListener("toggle", () => {
    const sheet = more.closest(".drawers");
    if (more.open && sheet) sheet.scrollTop = sheet.scrollHeight; // what opens is below a low sheet's edge
  });
  const foot = h("div", { class: "tree-foot" }, more, drawn.how, count);
  return [head, tree.node, notes, cross.node, drawn.line, foot];
}

/** "4 written"; pointed at, where Play stops. @param {HTMLElement} root @param {Path} path @param {Player} player */
function sayCount(root, { ids, nPrompt }, player) {
  const goal = player.goal();
  const done = ids.length - nPrompt;
  setText(root, done ? t("generation.count", { done }) : "");
  update(root, { title: t("generation.count_about", { goal }) });
}

/** Why there is no next token, and other remarks. @param {string|null} blocked @param {State} state @param {ModelTrace|null} trace */
function notesOf(blocked, state, trace) {
  const { model } = trace ?? {};
  const why = blocked && blocked !== "reading" ? t(`generation.${blocked}`, { n: model?.max_seq_len ?? "" }) : "";
  return [why, state.padCount ? t("generation.padded") : ""].filter(Boolean).join(" ");
}
