/** The masks panel: what a position may attend to, and PADs around the sentence. */

import { lazy } from "../data/lazily.js";
import { leakOfHead, openSquare } from "../model/compare/measure.js";
import { causalIn, editing, keepingPlace, withChanges } from "../model/compare/runs.js";
import {
  attentionsOf,
  has,
  isRecurrent,
  offersPads,
  readsBatch,
  skipsPads,
  trainedCausal,
  writesTarget,
} from "../model/description.js";
import { everyLayer, openedLayers } from "../model/interventions.js";
import { position } from "../model/selection.js";
import { MOST_PADS } from "../state/run.js";
import { createPopover, switchRow } from "../ui/controls.js";
import { h, inOneColumn, newId, replace, setText, update } from "../ui/dom.js";
import { integer, percent } from "../ui/format.js";
import { keyFor, t } from "../ui/i18n.js";
import { createEdits } from "./edits.js";
import { placeOf } from "./places.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Leak } from "../model/compare/measure.js"
 * @import { Model } from "../model/description.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Actions } from "./view.js"
 */

// The controls of PADs: how many, on which side, masked or not, and whether positions count them.

/** @param {Actions} actions @param {() => any} model  of what is shown */
function createPadding(actions, model) {
  const set = (/** @type {Partial<State>} */ patch) =>
    actions.set(editing(actions.get(), model(), (state) => keepingPlace(state, patch, model())));
  const stepper = createStepper((padCount) => set({ padCount }), actions);
  const side = createSide((padSide) => set({ padSide }));
  const positions = switchRow("positions", t("masks.positions"), (padFollow) =>
    actions.set(editing(actions.get(), model(), () => ({ padFollow }))),
  );
  const unseen = h("small", { class: "now", dataset: { testid: "right-unseen" } });
  const about = h("small");
  const words = h(
    "div",
    { class: "t" },
    t("masks.pads"),
    h("small", { class: "tool-about" }, t("tools.about.pads")),
    h("span", { class: "switch-about" }, about, stepper.full),
  );
  const row = h("div", { class: "sw pads" }, words, h("div", { class: "pad-tools" }, stepper.node));
  const mask = switchRow("padding", t("masks.padding"), (on) => actions.set({ padMask: on }), "P");
  const open = () => actions.set({ drawer: "batch" });
  const second = h("button", { class: "btn", type: "button", dataset: { testid: "pads-second" }, on: { click: open } });
  second.append(t("masks.second"));
  const menu = createPadMenu(row, [mask.row, side.node, unseen, positions.row, second]);
  second.addEventListener("click", menu.close);

  return {
    node: menu.node,
    toggle: mask.toggle,
    button: menu.button,
    /** @param {ModelTrace|null} trace @param {State} state @param {Leak|null} leak */
    draw(trace, state, leak) {
      const { padCount, padSide, padMask, padFollow, hidden } = state;
      const offers = offersPads(model());
      stepper.draw(trace, state);
      side.draw(padSide);
      row.hidden = Boolean(model().picture) || (!offers && padCount === 0); // a link may bring some
      side.node.hidden = padCount === 0;
      positions.row.hidden = padCount === 0 || Boolean(model().picture);
      second.hidden = !readsBatch(model()) || state.file !== null;
      const nothing = padCount === 0 && hidden.length === 0;
      menu.show(nothing, Boolean(model().picture));
      menu.node.hidden = nothing && row.hidden;
      mask.row.hidden = nothing && !offers && !model().picture; // it has no such mask
      const [translates, causal] = [writesTarget(model()), causalIn(state, model())];
      setText(about, t(writesTarget(model()) ? "masks.pads_about_source" : "masks.pads_about"));
      unseen.hidden = padCount === 0 || padSide === "left" || (causal !== trainedCausal(model()) && !translates);
      setText(unseen, t(translates || !causal ? "masks.right_seen" : "masks.right_unseen"));
      const why = model().picture ? "picture.padding" : "masks.padding";
      const now = padCount ? maskNow(padMask, leak) : "";
      if (nothing) mask.set(padMask, t(`${why}_none`), "", true);
      else mask.set(padMask, t(`${hidden.length ? "picture" : "masks"}.padding_about`), now, false);
      const [skips, place] = [skipsPads(model()), padCount && trace ? positionsNow(trace, state) : ""];
      positions.set(padFollow && skips, t(`masks.positions${skips ? "" : "_always"}_about`), place, !skips);
    },
  };
}

/** How many PADs, in the line; what else there is to choose about them, while there are any, below it. @param {HTMLElement} row @param {HTMLElement[]} items */
function createPadMenu(row, items) {
  const attrs = { class: "btn", type: "button", "aria-label": t("masks.pads_menu"), title: t("masks.pads_menu_about") };
  const button = /** @type {HTMLButtonElement} */ (h("button", { ...attrs, dataset: { testid: "pads-menu" } }));
  const panel = h("div", { class: "pad-menu", role: "group", "aria-label": t("masks.pads_menu") }, items);
  const node = h("div", { class: "pad-more padding" }, row, button, panel);
  const { close } = createPopover(node, button, panel, () => {});
  return {
    node,
    button,
    close,
    /** @param {boolean} nothing  there is none to choose for @param {boolean} picture */
    show(nothing, picture) {
      setText(button, picture ? t("masks.padding") : "");
      node.classList.toggle("none", nothing);
      if (nothing) close();
    },
  };
}

/** @param {boolean} padMask @param {Leak|null} leak */
function maskNow(padMask, leak) {
  if (padMask) return t("masks.padding_on_now");
  return leak ? t("masks.padding_off_now", { share: percent(leak.pad) }) : t("masks.padding_off_now_short");
}

/** The sentence's positions, and what they would be with the switch flipped. @param {ModelTrace} trace @param {State} state */
function positionsNow(
  {
    model,
    sides: {
      source: { real },
    },
  },
  { padCount, padSide, padMask, padFollow },
) {
  const last = real.end - real.start - 1;
  const [plain, shifted] = [
    { from: 0, to: last },
    { from: padCount, to: padCount + last },
  ];
  if (padSide === "right") return t("masks.positions_same_now", plain);
  if (!skipsPads(model)) return t("masks.positions_always_now", shifted);
  if (!padMask) return t("masks.positions_no_mask_now", shifted);
  const [now, other] = padFollow ? [plain, shifted] : [shifted, plain];
  const key = padFollow ? "masks.positions_follow_now" : "masks.positions_count_now";
  return t(key, { ...now, other_from: other.from, other_to: other.to });
}

/** The buttons − and + with the count; the window limits it. @param {(padCount: number) => void} change @param {Actions} actions */
function createStepper(change, actions) {
  const step = (/** @type {number} */ by) => change(Math.min(MOST_PADS, Math.max(0, actions.get().padCount + by)));
  /** @param {number} by @param {string} sign @param {string} name */
  const button = (by, sign, name) => {
    const word = t(`masks.${name.replace("-", "_")}`);
    const on = { click: () => step(by) };
    return h("button", { type: "button", "aria-label": word, title: word, dataset: { testid: name }, on }, sign);
  };
  const [fewer, more] = [button(-1, "−", "pads-fewer"), button(1, "+", "pads-more")];
  const count = h("output", { class: "mono", "aria-live": "polite", dataset: { testid: "pads" } });
  const full = h("small", { class: "now", hidden: true });
  return {
    node: h("div", { class: "seg stepper", role: "group", "aria-label": t("masks.pads") }, fewer, count, more),
    full,
    /** @param {ModelTrace|null} trace @param {State} state */
    draw(trace, { padCount }) {
      const free = trace
        ? trace.model.max_seq_len - (trace.sides.source.real.end - trace.sides.source.real.start)
        : MOST_PADS;
      setText(count, String(padCount));
      update(fewer, { disabled: padCount === 0 });
      update(more, { disabled: padCount >= Math.min(MOST_PADS, free) });
      full.hidden = free >= MOST_PADS || padCount < free;
      if (!full.hidden && trace) setText(full, t("masks.pads_full", { n: trace.model.max_seq_len }));
    },
  };
}

/** @param {(side: State["padSide"]) => void} change */
function createSide(change) {
  const choice = (/** @type {State["padSide"]} */ side) => {
    const attrs = { type: "button", dataset: { testid: `pads-${side}` }, on: { click: () => change(side) } };
    return h("button", attrs, t(`masks.side.${side}`));
  };
  const sides = { left: choice("left"), right: choice("right") };
  return {
    node: h("div", { class: "seg", role: "group", "aria-label": t("masks.side") }, Object.values(sides)),
    draw(/** @type {State["padSide"]} */ padSide) {
      for (const [side, button] of Object.entries(sides)) update(button, { "aria-pressed": side === padSide });
    },
  };
}

const formula = lazy(() => import("./formula_menu.js"));

/** The button of the menu that changes the formula. @param {Actions} actions @param {() => any} model  of what is shown */
function createFormulaMenu(actions, model) {
  const attrs = { type: "button", title: t("formula.about"), dataset: { testid: "formula-menu" } };
  const button = /** @type {HTMLButtonElement} */ (
    h("button", attrs, t("formula.open"), h("small", null, t("tools.about.formula")))
  );
  const panel = h("div", { class: "pad-menu", role: "group", "aria-label": t("formula.title") });
  const node = h("div", { class: "pad-more formula-menu" }, button, panel);
  let made = /** @type {ReturnType<typeof import("./formula_menu.js").createFormulaRows>|null} */ (null);
  const { close } = createPopover(node, button, panel, async () => {
    await formula.load();
    if (!made && formula.code) {
      made = formula.code.createFormulaRows(actions, model);
      replace(panel, made.rows);
    }
    made?.draw(actions.get());
  });
  return {
    node,
    /** @param {State} state */
    draw(state) {
      node.hidden = state.file !== null || state.lesson !== null || state.quiz || !attentionsOf(model()).length;
      if (node.hidden) close();
      else made?.draw(state);
    },
  };
}

/** Their element, in the line of the path. */
export function buildMasks() {
  const title = h("h2", { class: "sr-only", id: newId("masks-title") }, t("masks.title"));
  const [quiz, switches] = [h("div", { class: "quiz-cards" }), h("div", { dataset: { control: "masks" } })];
  return { element: h("div", { class: "masks" }, title, switches), title, quiz, switches };
}

/**
 * @param {{root: HTMLElement, tools: HTMLElement}} at  `tools`: the menu of tools, which has the formula's menu @param {Actions} actions
 * @param {(state: State) => any} modelOf @param {EventTarget} ground  receives the page's key events
 * @returns {(trace: ModelTrace|null, state: State) => void}
 */
export function createMasks({ root, tools }, actions, modelOf, ground) {
  const model = () => modelOf(actions.get());
  /** What is chosen stays chosen when a mask is switched, also what was chosen because it was the most. */
  let kept = /** @type {Partial<State>} */ ({});
  const set = (/** @type {(state: State) => Patch} */ change) => actions.set(editing(actions.get(), model(), change));
  const causal = switchRow(
    "causal",
    t("masks.causal"),
    (on) =>
      set((state) => ({ ...everyLayer(state, on, model()), ...(state === actions.get() && keptIn(state, kept)) })),
    "C",
  );
  const padding = createPadding(actions, model);
  // What comes and goes stands before the switches, which keep their places under the pointer; on a phone, at its foot.
  const edits = createEdits(actions, model, set, ground);
  const menu = createFormulaMenu(actions, model);
  replace(root, edits.row, causal.row);
  tools.append(padding.node, menu.node);
  pressedBy(ground, {
    KeyC: () => [causal.toggle],
    KeyP: () => [padding.toggle, causal.toggle],
    KeyU: () => [edits.all, edits.undo],
    KeyB: () => [edits.other()],
  });

  return (trace, state) => {
    const now = model();
    const shown = trace && trace.model.name === now.name ? trace : null;
    const leak = shown && leakNow(shown, state);
    const real = withChanges(state, now); // the switches stand as they are set, also while the run before is shown
    const on = causalIn(real, now);
    const about = writesTarget(now) ? "masks.causal_about_target" : "masks.causal_about";
    const layers = on ? openedLayers(real, now).map(({ where }) => where.layer) : [];
    const effectNow = shown && shown.causal === on ? effect(shown, state, leak) : "";
    const noSwitch = attentionsOf(now).every(isRecurrent);
    if (noSwitch) causal.set(true, t("masks.always_causal"), "", true);
    else if (layers.length)
      causal.set(false, t(about), t("masks.off_in_now", { n: layers.length, layers: layers.join(", ") }));
    else causal.set(on, t(about), effectNow);
    kept = shown && placeOf(state).name === "head" ? chosenNow(shown, state) : {};
    // A lesson has no tools, and on a phone its menu is at the foot, so that what it changes is in sight.
    const at = state.lesson === null && !inOneColumn() ? tools : root;
    if (padding.node.parentNode !== at) at.append(padding.node);
    padding.draw(shown, real, leak);
    menu.draw(real);
    edits.draw(shown, state);
  };
}

/**
 * Presses a control when Alt and its key are pressed, if it, or what it stands beside, is in sight; a key is called by its place, because
 * Alt types other letters.
 * @param {EventTarget} ground @param {Record<string, () => HTMLElement[]>} controls  by key
 */
function pressedBy(ground, controls) {
  const isSeen = (/** @type {HTMLElement|undefined} */ one) => one?.checkVisibility({ visibilityProperty: true });
  ground.addEventListener("keydown", (event) => {
    const { code, altKey, ctrlKey, metaKey, repeat, target } = /** @type {KeyboardEvent} */ (event);
    const [control, ...near] = controls[code]?.() ?? [];
    if (!altKey || ctrlKey || metaKey || repeat || ![control, ...near].some(isSeen)) return;
    if (/** @type {Element} */ (target).closest?.("textarea, input:not([type=range]), dialog")) return;
    event.preventDefault();
    control.click();
  });
}

/** What was chosen when it was drawn, unless another token was chosen since. @param {State} state @param {Partial<State>} kept */
const keptIn = ({ query, key }, kept) =>
  query === null || query === kept.query ? { ...kept, ...(key !== null && { key }) } : null;

/** @param {ModelTrace} trace @param {State} state @returns {Partial<State>} */
function chosenNow(trace, state) {
  const { query, key } = position(state, trace);
  return { query, key };
}

/**
 * The leak of the open head, from its float32; null until that arrives.
 * @param {ModelTrace} trace @param {State} state @returns {Leak|null}
 */
function leakNow(trace, { layer, head }) {
  const { detail, attention } = trace;
  if (detail?.layer !== layer || detail?.head !== head || detail.attention !== attention.id) return null;
  if (!has(attention, "overview")) return null; // an attention without an overview
  return leakOfHead(openSquare(trace, detail));
}

/** The current effect of the causal mask, counted in the trace. @param {ModelTrace} trace @param {State} state @param {Leak|null} leak */
function effect(trace, { layer, head }, leak) {
  const trained = trainedCausal(trace.model);
  const own = trace.attentions.find(({ causal }) => causal) ?? trace.attention; // the attention that the switch is about
  if (!has(own, "mask")) return "";
  const { detail } = trace;
  const opened = detail?.attention === own.id && detail.layer === layer && detail.head === head;
  const mask = trace.pool === 1 ? trace.mask(layer, head, own.id) : opened ? detail.mask.data : null; // a pooled one cannot be counted
  if (!mask) return "";
  const forbidden = mask.reduce((count, reasons) => count + (reasons ? 1 : 0), 0);
  const cells = { forbidden: integer(forbidden), n: integer(mask.length) };
  if (trace.causal) return t(trained ? "masks.on_now" : "masks.on_now_untrained", cells);
  if (!trained) return t(keyFor(trace.model, "masks.off_now_trained"));
  if (!leak || own.id !== trace.attention.id) return t("masks.off_now_short");
  return t(forbidden ? "masks.off_now_padded" : "masks.off_now", { share: percent(leak.future) });
}
