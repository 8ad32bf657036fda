/** Generation: the sentence continues token by token, and every step can be inspected, undone or taken another way. */

import { writesTarget } from "../../model/description.js";
import { tokenLabel, tokenName } from "../../model/labels.js";
import { sharedLength } from "../../model/selection.js";
import { followsQuery, queryAt } from "../../model/written.js";
import { walkList } from "../../ui/controls.js";
import { h, perRoot, replace, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { tokenText } from "../../ui/token_text.js";
import { createBeams } from "./beams.js";
import { createRestart } from "./buttons.js";
import { createCrossRow, createDrawn } from "./drawn.js";
import { writerOf } from "./player.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, Draw } from "../view.js"
 * @import { Player } from "./buttons.js"
 * @import { Path, Session } from "./session.js"
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
  const parts = {
    path: createGenerationPath(session, player, actions),
    cross: createCrossRow(session, actions),
    drawn: createDrawn(session),
    beams: createBeams(session, actions),
    title: h("span", { class: "nowrap" }),
    count: h("span", { class: "dim", dataset: { testid: "gen-count" } }),
    restart: createRestart(session, player),
    notes: h("p", { class: "note", dataset: { testid: "gen-note" } }),
  };
  replace(root, layout(parts));

  function draw() {
    const state = actions.get();
    const path = session.path();
    const translates = writesTarget(trace?.model);
    setText(parts.title, t(translates ? "generation.title_target" : "generation.title"));
    if (path) setText(parts.count, countOf(path, player, state));
    parts.path.draw();
    parts.restart.draw();
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
 * @typedef {{title: HTMLElement, path: ReturnType<typeof createGenerationPath>, cross: {node: HTMLElement},
 *   drawn: {node: HTMLElement}, restart: {node: HTMLElement}, beams: {node: HTMLElement}, count: HTMLElement, notes: HTMLElement}} Layout
 */

/** @param {Layout} parts */
function layout({ title, path, cross, drawn, beams, count, restart, notes }) {
  const head = h("div", { class: "written-head" }, h("h2", null, title, count), restart.node);
  return [head, path.strip, notes, cross.node, drawn.node, path.branches, beams.node];
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

// The path so far (prompt, generated and undone tokens) and the abandoned branches.

/** The number of tokens on a branch's button. */
const SHOWN = 6;

/**
 * @param {Session} session
 * @param {ReturnType<typeof import("./player.js").createGenerationPlayer>} player
 * @param {Actions} actions
 */
function createGenerationPath(session, player, actions) {
  const attrs = { class: "time", role: "toolbar", "aria-label": t("generation.strip") };
  const strip = h("div", { ...attrs, on: { keydown: (event) => walkList(event, "ArrowLeft", "ArrowRight") } });
  const branches = h("div", { class: "branches", dataset: { testid: "gen-branches" } });
  let drawn = "";
  let left = "";

  const choose = (/** @type {Path} */ path, /** @type {number[]} */ undone) => (/** @type {number} */ index) => {
    player.pause();
    const [state, model] = [actions.get(), session.model()];
    // A row of an encoder's head is not a row of the generated text: the model's last attention is opened instead.
    if (index < path.ids.length)
      actions.set({
        ...(followsQuery(state, model) ? {} : { attention: null, key: null }),
        query: queryAt(state, model, index),
      });
    else session.go({ ...path, ids: [...path.ids, ...undone].slice(0, index + 1) });
  };

  return {
    strip,
    branches,
    draw() {
      const path = session.path();
      if (!path) return; // while a new sentence is read, the old one stays
      const undone = session.undone();
      const labels = [...path.ids, ...undone].map((id) => tokenLabel(session.word(id)));
      const content = JSON.stringify([path, undone, labels]);
      const build = () => replace(strip, tokensOf(session, path, undone, choose(path, undone)));
      if (content !== drawn) keepFocus(strip, build);
      drawn = content;
      light(strip, session.chosen(path));
      const others = session.branches();
      const key = content + JSON.stringify(others);
      if (key !== left) replace(branches, branchesOf(session, path, others));
      left = key;
      branches.hidden = others.length === 0;
    },
  };
}

/**
 * @param {Session} session @param {Path} path
 * @param {number[]} undone @param {(index: number) => void} choose
 */
function tokensOf(session, { ids, nPrompt, typed }, undone, choose) {
  const kindOf = (/** @type {number} */ index) => {
    if (index >= ids.length) return "undone";
    if (index < nPrompt || typed) return "";
    return index === ids.length - 1 ? "gen now" : "gen";
  };
  return [...ids, ...undone].map((id, index) => {
    const kind = kindOf(index);
    const word = session.word(id);
    const about = t(`generation.token_${kind.split(" ").at(-1) || "prompt"}`, { index, label: tokenName(word), id });
    const attrs = { class: `tok ${kind}`, type: "button", title: about, "aria-label": about };
    const on = { click: () => choose(index) };
    return h("button", { ...attrs, on, dataset: { testid: "gen-token", index, id } }, tokenText(word));
  });
}

/** The chosen row. Only one token is a stop for the Tab key. @param {Element} strip @param {number} query */
function light(strip, query) {
  [...strip.children].forEach((node, index) => {
    const button = /** @type {HTMLElement} */ (node);
    button.classList.toggle("q", index === query);
    button.tabIndex = index === query ? 0 : -1;
    update(button, { "aria-current": index === query ? "true" : null });
    if (index === query) requestAnimationFrame(() => bringIntoView(strip, button)); // the browser lays out once
  });
}

/** Scrolls inside the strip only: the page stays where it is. @param {Element} strip @param {HTMLElement} button */
function bringIntoView(strip, button) {
  const [top, bottom] = [button.offsetTop, button.offsetTop + button.offsetHeight];
  if (top < strip.scrollTop) strip.scrollTop = top;
  else if (bottom > strip.scrollTop + strip.clientHeight) strip.scrollTop = bottom - strip.clientHeight;
}

/** Runs `change` without losing the keyboard's focus. @param {Element} strip @param {() => void} change */
function keepFocus(strip, change) {
  const at = [...strip.children].indexOf(/** @type {Element} */ (document.activeElement));
  change();
  if (at >= 0) /** @type {HTMLElement|undefined} */ (strip.children[at])?.focus({ preventScroll: true });
}

/** @param {Session} session @param {Path} path @param {Path[]} others */
function branchesOf(session, path, others) {
  const chip = (/** @type {Path} */ branch) => {
    const from = sharedLength(path.ids, branch.ids);
    const own = branch.ids.slice(from, from + SHOWN).map((id) => session.word(id));
    const title = t("generation.branch_about", { index: from, n: branch.ids.length - branch.nPrompt });
    const on = { click: () => session.go(branch) };
    return h(
      "button",
      { class: "chip", type: "button", title, on, dataset: { testid: "gen-branch" } },
      h("span", { class: "dim" }, `${from}: `),
      own.map((word) => h("span", { class: "mono" }, tokenText(word))),
      branch.ids.length > from + SHOWN ? " …" : null,
    );
  };
  return [h("span", { class: "dim" }, t("generation.branches")), others.map(chip)];
}
