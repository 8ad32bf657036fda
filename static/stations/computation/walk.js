/** The steps as a list to walk along: Previous, Next, Play, the arrow keys, or a jump. */

import { h, keepingFocus, replace, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { math } from "../../ui/mathml.js";
import { letterOf } from "../role_formulas.js";
import { controlsOf, drawControls, showPlay } from "./controls.js";
import { stepName, wordOfStep } from "./kinds.js";
import { own } from "./own.js";
import { createPlayer } from "./player.js";
import { roleOf } from "./steps.js";

/**
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../index.js"
 * @import { Step } from "./steps.js"
 */

/** @param {Actions} actions @param {(to: Step) => void} go */
export function buildWalk(actions, go) {
  const parts = {
    steps: /** @type {Step[]} */ ([]),
    open: 0,
    drawnSteps: "",
    list: h("ol", { class: "walk-steps" }),
  };
  const to = (index) => {
    const step = parts.steps[Math.max(0, Math.min(index, parts.steps.length - 1))];
    if (step && step !== parts.steps[parts.open]) go(step);
  };
  const player = createPlayer({
    to,
    index: () => parts.open,
    count: () => parts.steps.length,
    pace: () => Number(own.of(actions.get()).pace),
    isSeen: () => actions.get().view === "computation",
    onChange: () => showPlay(walk),
  });
  const jump = (index) => {
    player.stop();
    to(index);
  };
  const choosePace = (pace) => actions.set(own.patch({ pace }));
  const walk = Object.assign(parts, { player, jump, ...controlsOf(parts, player, jump, choosePace) });
  const element = h(
    "nav",
    { class: "walk", "aria-label": t("computation.walk"), on: { keydown: (event) => onKey(event, walk) } },
    parts.list,
  );
  return Object.assign(walk, { element });
}

/** ← and → walk, wherever the focus is on the walk. */
function onKey(event, { jump, open, steps }) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const index = { ArrowLeft: open - 1, ArrowRight: open + 1, Home: 0, End: steps.length - 1 }[event.key];
  if (index === undefined) return;
  event.preventDefault();
  jump(index);
}

/**
 * @param {ReturnType<typeof buildWalk>} walk
 * @param {Step[]} steps @param {Step} open @param {any} model
 * @param {State} state
 */
export function drawWalk(walk, steps, open, model, state) {
  walk.steps = steps;
  walk.open = steps.indexOf(open);
  const drawn = [model.name, open.layer, ...steps.map(({ id }) => id)].join(" ");
  if (drawn !== walk.drawnSteps) keepingFocus(walk.list, () => replace(walk.list, groupsOf(walk, steps, open)));
  walk.drawnSteps = drawn;
  const held = walk.list.contains(document.activeElement);
  for (const item of walk.list.querySelectorAll("[data-step]")) {
    const isOpen = item.dataset.step === open.id;
    update(item, { "aria-current": isOpen ? "step" : null, tabindex: isOpen ? 0 : -1 });
    if (isOpen) reveal(walk.list, item);
    if (isOpen && held) item.focus({ preventScroll: true });
  }
  drawControls(walk, own.of(state).pace);
}

/** The steps of the block, in one group per sublayer. */
function groupsOf(walk, steps, { layer }) {
  const groups = [...new Set(steps.map(({ group }) => group))];
  return groups.map((group) => {
    const items = steps.filter((step) => step.group === group).map((step) => h("li", null, stepButton(walk, step)));
    return h(
      "li",
      { class: "walk-group" },
      h("span", { class: "walk-name" }, t(`computation.group.${group}`, { layer })),
      h("ol", null, items),
    );
  });
}

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

/** W_O, W_1 with a subscript, as in the formulas. */
function shortName(step) {
  const role = roleOf(step);
  if (role !== null) return math(letterOf(role));
  const [letter, index] = t(`computation.short.${wordOfStep(step)}`).split("_");
  return index ? [letter, h("sub", null, index)] : letter;
}

/** If the steps are in one line, scroll the open one into view without moving the page. */
function reveal(list, item) {
  if (list.scrollWidth <= list.clientWidth) return;
  const middle =
    item.getBoundingClientRect().left - list.getBoundingClientRect().left + list.scrollLeft + item.offsetWidth / 2;
  list.scrollTo({ left: Math.max(0, middle - list.clientWidth / 2) });
}
