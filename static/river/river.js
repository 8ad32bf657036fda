/** The river of one page: draws the newest trace, and draws it again whenever more is measured. */

import { toggled, withoutKnockouts } from "../model/interventions.js";
import { isPart, nameText } from "../model/labels.js";
import { atLeast } from "../state/page_fields.js";
import {
  h,
  hide,
  keepingFocus,
  keepWidth,
  perRoot,
  plainText,
  replace,
  revealWhole,
  setText,
  update,
} from "../ui/dom.js";
import { keyFor, t } from "../ui/i18n.js";
import { buildBoard, createRiverBoard } from "./board.js";
import { drawBreadcrumb } from "./breadcrumb.js";
import { stageOf } from "./draw/animation.js";
import { factsOf, rolledOnce, samePicture } from "./facts.js";
import { actionsOf } from "./input/actions.js";
import { createKnockoutMeasuring } from "./knockout_effects.js";
import { NONE } from "./layout/frame.js";
import { choicesOf } from "./layout/heads.js";
import { headDrawing } from "./open_head.js";
import { createWatch, createWriting } from "./playing.js";
import { isDeep, openLayer, outward, riverState } from "./view_state.js";
import { barsOf } from "./words/names.js";
import {
  aboutModel,
  beadEntry,
  drawTable,
  entryOf,
  gathersWords,
  riverLegend,
  saysWords,
  sentenceOf,
} from "./words/texts.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Attention } from "../model/description.js"
 * @import { State } from "../state/store.js"
 * @import { Actions, View } from "../stations/view.js"
 * @import { Facts } from "./facts.js"
 */

// The elements of the river's panel.

/** @param {HTMLElement} root */
export function buildRiverParts(root) {
  const about = h("p", { class: "river-about dim" });
  const says = h("p", { class: "says", "aria-live": "polite", dataset: { testid: "river-says" } });
  const previewed = h("p", {
    class: "says previewed",
    hidden: true,
    "aria-hidden": "true",
    dataset: { testid: "river-head" },
  });
  const choice = h("div", { class: "seg", role: "group", "aria-label": t("river.heads_choice"), hidden: true });
  const board = buildBoard();
  const legend = h("span", { class: "dim means", dataset: { testid: "river-legend" } });
  const restore = h("button", {
    class: "btn restore",
    type: "button",
    hidden: true,
    dataset: { testid: "river-restore" },
  });
  const table = h("div");
  const button = (/** @type {string} */ name, /** @type {string} */ kind) =>
    h("button", { class: `btn ${kind}`, type: "button", dataset: { testid: `river-${name}` } });
  const next = button("next", "primary");
  next.append(t("river.next_word"));
  const write = button("write", "");
  write.append(t("river.write_on"));
  keepWidth(write, t("river.write_stop"));
  const writing = h("div", { class: "writing" }, next, write);
  const watch = button("watch", "");
  keepWidth(watch, t("river.pause"));
  const scrub = h("input", {
    type: "range",
    min: 0,
    max: 1,
    dataset: { testid: "river-scrub" },
  });
  const sentence = h("div", { class: "sentences" }, says, previewed);
  const zoom = h("div", { class: "river-zoom", hidden: true, dataset: { testid: "river-zoom" } });
  const steps = h("nav", { class: "river-steps", "aria-label": t("river.steps"), hidden: true });
  const top = h("div", { class: "river-top" }, sentence, writing);
  const bytes = h("p", { class: "dim", hidden: true, dataset: { testid: "river-bytes" } });
  const name = h("h1", { class: "sr-only river-name" }, t("river.title")); // at Look the page has no other
  replace(
    root,
    name,
    about,
    top,
    bytes,
    steps,
    board.box,
    zoom,
    h("div", { class: "foot" }, watch, scrub, restore, choice, legend),
    table,
  );
  return {
    about,
    says,
    bytes,
    steps,
    zoom,
    previewed,
    choice,
    table,
    legend,
    restore,
    board,
    next,
    write,
    writing,
    watch,
    scrub,
  };
}

/** @typedef {{trace: ModelTrace, state: State, actions: Actions}} Now */

/** From outside to inside. */
const DEPTHS = ["layers", "head", "cell"];

/** How many answers have a bar of their own. */
const BARS = 5;

/** @param {ReturnType<typeof import("./river.js").buildRiverParts>} parts */
export function createRiver(parts) {
  let now = /** @type {Now|null} */ (null);
  let last = /** @type {Facts|null} */ (null);
  const board = createRiverBoard(parts.board);
  const rolls = { rolled: rolledOnce(), before: rolledOnce() };
  const measuring = createKnockoutMeasuring(soon);
  const writing = createWriting(parts);
  function back() {
    const patch = now && last && outward(now.state, openLayer(now.state, last.rolled));
    if (patch) now?.actions.set(patch);
  }
  const watch = createWatch(parts, (time) => {
    board.watch(time);
    if (now && last) playWords(parts.previewed, last, now.trace.model.description.predicts, time);
  });

  parts.says.addEventListener("click", (/** @type {MouseEvent} */ { target }) => {
    const edges = last?.measured?.deciding?.edges;
    if (!now || !edges || !(/** @type {Element} */ (target).closest("button"))) return;
    parts.board.canvas.focus({ preventScroll: true }); // the button goes
    const { trace, actions } = now; // the newest knockouts are the page's, not those of the trace that is shown
    actions.set({ interventions: toggled(actions.get().interventions, edges, trace.attentions) });
  });
  // The button is below the picture, which may have left the screen.
  parts.watch.addEventListener("click", () => {
    if (parts.board.box.getBoundingClientRect().top < 0) parts.about.scrollIntoView({ block: "start" });
  });
  let frame = 0;

  /** Effects come many at a time. */
  function soon() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(render);
  }

  function render() {
    if (!now) return;
    const { trace, state, actions } = now;
    const facts = factsOf(trace, state, rolls, measuring);
    if (last?.rolled !== facts.rolled) watch.end();
    last = facts;
    writing.show(now, facts);
    setText(parts.about, aboutModel(trace.model));
    update(parts.scrub, { "aria-label": t(keyFor(trace.model, "river.moment")) });
    setText(parts.legend, riverLegend(facts) + (trace.pool > 1 ? t("river.legend_pooled", { n: trace.pool }) : ""));
    const part = facts.names.flat().find(isPart);
    parts.bytes.hidden = !part;
    if (part) setText(parts.bytes, t("river.bytes", { name: nameText(part) }));
    say(parts.says, sentenceOf(facts, trace.model.description.predicts));
    update(parts.restore, { hidden: !facts.knockouts.length });
    setText(parts.restore, t("river.restore", { n: facts.knockouts.length }));
    parts.restore.onclick = () => now?.actions.set({ interventions: withoutKnockouts(now.state.interventions) });
    const { heads } = riverState.of(state);
    drawChoice(
      parts.choice,
      heads !== NONE && atLeast(state, "everything") ? choicesOf(trace, facts) : [],
      heads,
      actions,
    );
    const open = openLayer(state, facts.rolled);
    const head = isDeep(state) ? { attention: trace.attention.id, layer: state.layer, head: state.head } : null;
    drawBreadcrumb(parts.steps, now, facts, { open, picture: parts.board.canvas });
    board.show(
      { facts, trace, heads, open, head, bars: barsOf(facts, BARS) },
      actionsOf(() => /** @type {Now} */ (now), facts, { previewed: parts.previewed, measuring }),
    );
    drawTable(parts.table, () => ({
      lines: board.lines().map((line) => entryOf(facts, line)),
      beads: board.beads().map((bead) => beadEntry(facts, bead)),
    }));
  }

  return {
    /** @param {Now} newest */
    show(newest) {
      const same = now !== null && samePicture(now, newest);
      const opens = now !== null && deeper(now.state, newest.state);
      now = newest;
      if (!same) render();
      hide(parts.zoom, !isDeep(newest.state), parts.board.canvas);
      if (isDeep(newest.state)) headDrawing.draw(parts.zoom, newest, { back, picture: parts.board.canvas });
      if (opens) revealWhole(parts.zoom);
    },

    /** It is not shown: nothing is measured. */
    rest() {
      now = null;
      measuring.stop();
      writing.stop();
      watch.end();
    },
  };
}

/**
 * Whether the reader went into the picture. An example that opens deep is read from its sentence on.
 * @param {State} before @param {State} after
 */
function deeper(before, after) {
  const [was, is] = [before, after].map((state) => DEPTHS.indexOf(riverState.of(state).depth));
  return was < is && before.text === after.text && before.model === after.model;
}

/** What the picture does at this moment; at the end, its usual sentence. @param {HTMLElement} root @param {Facts} facts @param {string} predicts @param {number} time */
function playWords(root, facts, predicts, time) {
  const stage = stageOf(time);
  root.hidden = stage === null;
  if (stage) say(root, stage.answer > 0 ? saysWords(facts, predicts) : gathersWords(facts));
}

/** Which attention's heads are drawn, where a stack has several. @param {HTMLElement} root @param {Attention[]} choices @param {string|null} chosen @param {Now["actions"]} actions */
function drawChoice(root, choices, chosen, actions) {
  root.hidden = choices.length < 2;
  const open = choices.find(({ id }) => id === chosen) ?? choices[0];
  keepingFocus(root, () =>
    replace(
      root,
      choices.map(({ id }, i) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": id === open.id,
            dataset: { focus: id },
            on: { click: () => actions.set(riverState.patch({ heads: i ? id : null })) },
          },
          t(`attention.${id}`),
        ),
      ),
    ),
  );
}

/** Say what differs from what was said last: it is read aloud. @param {HTMLElement} says @param {(Node|string)[]} words */
function say(says, words) {
  if (plainText(words) !== says.textContent) replace(says, ...words);
}

const riverOf = perRoot((root) => createRiver(buildRiverParts(root)));

/** @type {View["draw"]} */
export function draw(root, trace, state, actions) {
  if (root.hidden) riverOf(root).rest();
  else riverOf(root).show({ trace, state, actions });
}
