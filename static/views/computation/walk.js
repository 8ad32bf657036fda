/** The steps as a list to walk along: Previous, Next, Play, the arrow keys, or a jump. */

import { h, keepingFocus, replace, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { math } from "../../ui/mathml.js";
import { letterOf } from "../formulas.js";
import { WALK_PACES, walkState } from "../view_states.js";
import { stepName, wordOfStep } from "./kinds.js";
import { roleOf } from "./steps.js";

/** @import { Model } from "../../model/description.js" */

/**
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Step } from "./steps.js"
 *
 * @typedef {typeof WALK_PACES[number]} Pace
 * @typedef {Pick<ReturnType<typeof buildWalk>, "steps"|"open"|"drawnSteps"|"list"|"jump"|"where"|"previous"|"next"|"play"|"pace"|"player">} Walk
 */

// Play: one step after another, each for as long as it takes to read, up to the last.

/**
 * @param {{index: () => number, count: () => number, to: (index: number, plays?: boolean) => void, pace: () => number, isSeen: () => boolean,
 *   asked: () => boolean, onChange: (plays: boolean) => void}} walk  `pace`: seconds for a step; `isSeen`: no other station was opened
 *   meanwhile; `asked`: whether it should play, as who opened it said
 */
function createWalkPlayer({ index, count, to, pace, isSeen, asked, onChange }) {
  const player = { playing: false, play, stop, drawn };
  let timer = 0;

  function stop() {
    clearTimeout(timer);
    player.playing = false;
    onChange(false);
  }

  function play() {
    player.playing = true;
    onChange(true);
    to(index() === count() - 1 ? 0 : index() + 1, true);
  }

  /** The next step comes the pace's seconds after this one was drawn: a slow server skips none. */
  function drawn() {
    if (!player.playing && !asked()) return;
    if (!player.playing) {
      player.playing = true;
      onChange(true);
    }
    clearTimeout(timer);
    if (index() === count() - 1) stop();
    else timer = window.setTimeout(() => (isSeen() ? to(index() + 1, true) : stop()), pace() * 1000);
  }

  return player;
}

// The controls above the steps of the walk: Previous, Play, Next, and the pace of Play.

/**
 * @param {{open: number}} parts  of the walk @param {ReturnType<typeof createWalkPlayer>} player
 * @param {(index: number) => void} jump @param {(pace: Pace) => void} choosePace
 */
function controlsOf(parts, player, jump, choosePace) {
  /** @param {string} name @param {() => void} act */
  const button = (name, act, kind = "btn") =>
    h("button", { class: kind, type: "button", dataset: { testid: `walk-${name}` }, on: { click: act } });
  const where = h("span", { class: "dim walk-where", dataset: { testid: "walk-where" } });
  const previous = button("previous", () => jump(parts.open - 1));
  const next = button("next", () => jump(parts.open + 1));
  const play = button("play", () => (player.playing ? player.stop() : player.play()), "btn primary");
  for (const [one, name] of /** @type {const} */ ([
    [previous, "previous"],
    [play, "play"],
    [next, "next"],
  ]))
    showSign(one, name);
  const pace = h(
    "select",
    {
      "aria-label": t("computation.pace"),
      dataset: { testid: "walk-pace" },
      on: { change: () => choosePace(/** @type {Pace} */ (pace.value)) },
    },
    WALK_PACES.map((seconds) => h("option", { value: seconds }, t("computation.seconds", { n: Number(seconds) }))),
  );
  const buttons = h("div", { class: "walk-buttons" }, previous, play, next);
  return { where, previous, next, play, pace, controls: h("div", { class: "walk-controls" }, buttons, pace, where) };
}

/** @param {Walk} walk @param {Pace} seconds  the pace */
function drawControls({ where, previous, next, pace, open, steps }, seconds) {
  setText(where, t("computation.where", { i: open + 1, n: steps.length }));
  update(previous, { "aria-disabled": open === 0 ? "true" : null });
  update(next, { "aria-disabled": open === steps.length - 1 ? "true" : null });
  if (pace.value !== seconds) pace.value = seconds;
}

/** @type {Record<"previous"|"next"|"play"|"pause", string>} */
const SIGNS = { previous: "‹", next: "›", play: "▶", pause: "❚❚" };

/** A button is its sign, with its name. @param {HTMLElement} button @param {keyof typeof SIGNS} name */
function showSign(button, name) {
  const words = t(`computation.${name}`);
  setText(button, SIGNS[name]);
  update(button, { "aria-label": words, title: words });
}

/** @param {Actions} actions @param {(to: Step, plays?: boolean) => void} go */
export function buildWalk(actions, go) {
  const parts = {
    steps: /** @type {Step[]} */ ([]),
    open: 0,
    drawnSteps: "",
    list: h("ol", { class: "walk-steps" }),
  };
  const to = (/** @type {number} */ index, plays = false) => {
    const step = parts.steps[Math.max(0, Math.min(index, parts.steps.length - 1))];
    if (step && step !== parts.steps[parts.open]) go(step, plays);
  };
  const player = createWalkPlayer({
    to,
    index: () => parts.open,
    count: () => parts.steps.length,
    pace: () => Number(walkState.of(actions.get()).pace),
    isSeen: () => actions.get().view === "computation",
    asked: () => walkState.of(actions.get()).plays,
    onChange(plays) {
      showSign(walk.play, plays ? "pause" : "play");
      if (!plays && walkState.of(actions.get()).plays) actions.set(walkState.patch({ plays }));
    },
  });
  const jump = (/** @type {number} */ index) => {
    player.stop();
    to(index);
  };
  const choosePace = (/** @type {Pace} */ pace) => actions.set(walkState.patch({ pace }));
  const walk = Object.assign(parts, { player, jump, ...controlsOf(parts, player, jump, choosePace) });
  const element = h(
    "nav",
    {
      class: "walk",
      "aria-label": t("computation.walk"),
      on: { keydown: (event) => onKey(event, walk) },
    },
    parts.list,
  );
  return Object.assign(walk, { element });
}

/**
 * ← and → walk, wherever the focus is on the walk.
 * @param {KeyboardEvent} event @param {Pick<Walk, "jump"|"open"|"steps">} walk
 */
function onKey(event, { jump, open, steps }) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const to = new Map([
    ["ArrowLeft", open - 1],
    ["ArrowRight", open + 1],
    ["Home", 0],
    ["End", steps.length - 1],
  ]);
  const index = to.get(event.key);
  if (index === undefined) return;
  event.preventDefault();
  jump(index);
}

/**
 * @param {Walk} walk
 * @param {Step[]} steps @param {Step} open @param {Model} model
 * @param {State} state
 */
export function drawWalk(walk, steps, open, model, state) {
  walk.steps = steps;
  walk.open = steps.indexOf(open);
  const drawn = [model.name, open.layer, ...steps.map(({ id }) => id)].join(" ");
  if (drawn !== walk.drawnSteps) keepingFocus(walk.list, () => replace(walk.list, groupsOf(walk, steps, open)));
  walk.drawnSteps = drawn;
  const held = walk.list.contains(document.activeElement);
  for (const item of /** @type {NodeListOf<HTMLElement>} */ (walk.list.querySelectorAll("[data-step]"))) {
    const isOpen = item.dataset.step === open.id;
    update(item, { "aria-current": isOpen ? "step" : null, tabindex: isOpen ? 0 : -1 });
    if (isOpen) reveal(walk.list, item);
    if (isOpen && held) item.focus({ preventScroll: true });
  }
  drawControls(walk, walkState.of(state).pace);
}

/** The steps of the block, in one group per sublayer. @param {Walk} walk @param {Step[]} steps @param {Step} open */
function groupsOf(walk, steps, open) {
  const groups = [...new Set(steps.map(({ group }) => group))];
  return groups.map((group) => {
    const items = steps.filter((step) => step.group === group).map((step) => h("li", null, stepButton(walk, step)));
    return h("li", { class: "walk-group" }, groupName(walk, steps, group, open), h("ol", null, items));
  });
}

/** Where the steps are one row, a group that is not open is its name alone, which leads to its first step. @param {Walk} walk @param {Step[]} steps @param {string} group @param {Step} open */
function groupName(walk, steps, group, { layer }) {
  const click = () => walk.jump(steps.findIndex((step) => step.group === group));
  const attrs = { class: "walk-name", type: "button", tabindex: -1, on: { click } };
  return h("button", attrs, t(`computation.group.${group}`, { layer }));
}

/** @param {Walk} walk @param {Step} step */
function stepButton(walk, step) {
  const { id, kind } = step;
  const name = stepName(step);
  const role = ["q", "k", "v"].includes(kind) ? kind : null;
  const click = () => walk.jump(walk.steps.findIndex((step) => step.id === id));
  return h(
    "button",
    {
      class: role,
      type: "button",
      title: name,
      "aria-label": name,
      dataset: { step: id, testid: "walk-step", focus: id },
      on: { click },
    },
    shortName(step),
  );
}

/** W_O, W_1 with a subscript, as in the formulas. @param {Step} step */
function shortName(step) {
  const role = roleOf(step);
  if (role !== null) return math(letterOf(role));
  const [letter, index] = t(`computation.short.${wordOfStep(step)}`).split("_");
  return index ? [letter, h("sub", null, index)] : letter;
}

/**
 * If the steps are in one line, scroll the open one into view without moving the page.
 * @param {HTMLElement} list @param {HTMLElement} item
 */
function reveal(list, item) {
  if (list.scrollWidth <= list.clientWidth) return;
  const middle =
    item.getBoundingClientRect().left - list.getBoundingClientRect().left + list.scrollLeft + item.offsetWidth / 2;
  list.scrollTo({ left: Math.max(0, middle - list.clientWidth / 2) });
}
