/** The steps as a list to walk along: Previous, Next, Play, the arrow keys, or a jump. */

import { h, keepingFocus, keepWidth, replace, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { math } from "../../ui/mathml.js";
import { letterOf } from "../role_formulas.js";
import { stepName, wordOfStep } from "./kinds.js";
import { createPlayer } from "./player.js";
import { roleOf } from "./steps.js";

/** Seconds that Play gives to a step. */
const PACES = [0.5, 1, 2, 4, 8];

/** @param {import("../index.js").Actions} actions @param {(to: import("./steps.js").Step) => void} go */
export function buildWalk(actions, go) {
  const parts = {
    steps: /** @type {import("./steps.js").Step[]} */ ([]),
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
    isSeen: () => actions.get().view === "computation",
    onChange: () => showPlay(walk),
  });
  const jump = (index) => {
    player.stop();
    to(index);
  };
  const walk = Object.assign(parts, { player, jump, ...buttonsOf(parts, player, jump) });
  const element = h(
    "nav",
    { class: "walk", "aria-label": t("computation.walk"), on: { keydown: (event) => onKey(event, walk) } },
    parts.list,
  );
  return Object.assign(walk, { element });
}

/** The controls above the steps. */
function buttonsOf(parts, player, jump) {
  const button = (name, act, kind = "btn") =>
    h(
      "button",
      { class: kind, type: "button", dataset: { testid: `walk-${name}` }, on: { click: act } },
      t(`computation.${name}`),
    );
  const where = h("span", { class: "dim walk-where", dataset: { testid: "walk-where" } });
  const previous = button("previous", () => jump(parts.open - 1));
  const next = button("next", () => jump(parts.open + 1));
  const play = button("play", () => (player.playing ? player.stop() : player.play()), "btn primary");
  keepWidth(play, t("computation.pause"));
  const options = PACES.map((seconds) =>
    h("option", { value: seconds, selected: seconds === player.pace }, t("computation.seconds", { n: seconds })),
  );
  const changed = ({ target }) => {
    player.pace = Number(target.value);
    player.drawn();
  };
  const pacer = h(
    "select",
    { "aria-label": t("computation.pace"), dataset: { testid: "walk-pace" }, on: { change: changed } },
    options,
  );
  const controls = h(
    "div",
    { class: "walk-controls" },
    h("div", { class: "walk-buttons" }, previous, play, next),
    pacer,
    where,
  );
  return { where, previous, next, play, controls };
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
 * @param {import("./steps.js").Step[]} steps @param {import("./steps.js").Step} open @param {any} model
 */
export function drawWalk(walk, steps, open, model) {
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
  setText(walk.where, t("computation.where", { i: walk.open + 1, n: steps.length }));
  update(walk.previous, { "aria-disabled": walk.open === 0 ? "true" : null });
  update(walk.next, { "aria-disabled": walk.open === steps.length - 1 ? "true" : null });
}

function showPlay({ play, player }) {
  const [now, other] = player.playing ? ["pause", "play"] : ["play", "pause"];
  setText(play, t(`computation.${now}`));
  keepWidth(play, t(`computation.${other}`));
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
