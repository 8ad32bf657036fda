/**
 * The pencil of an open head: what a stroke over its mask means, and the mask that it gives until the answer is here.
 * The gesture itself is `followPen` in `chart/matrix/input.js`.
 */

import { editing, isTrained } from "../../model/compare/runs.js";
import { has, isRecurrent, showsMeans } from "../../model/description.js";
import { baseUnder, edited, editedLine, flipped, maskUnder } from "../../model/mask_edits.js";
import { position } from "../../model/selection.js";
import { inside } from "../../model/sides.js";
import { REASONS } from "../../model/taps.js";
import { runOf } from "../../state/run.js";
import { sameValue } from "../../state/view_state.js";
import { segment } from "../../ui/controls.js";
import { h, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { attentionState, SCOPES } from "../view_states.js";
import { isPencilOn, openAttentionStep } from "./steps.js";
import { pairPartOf, unitOf } from "./unit_cells.js";

/**
 * @import { Pen } from "../../chart/matrix/matrix.js"
 * @import { HeadTrace } from "../../data/model_trace.js"
 * @import { Cell, Head, Scope } from "../../model/mask_edits.js"
 * @import { Intervention } from "../../state/run.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

/**
 * @typedef {ReturnType<typeof buildPencil>} Pencil
 * @typedef {{allow: boolean, cells: Cell[]}} Stroke
 */

/** The button, and what an edit is about. @param {HTMLElement} root  of the open head: E switches the pencil in it */
export function buildPencil(root) {
  const button = /** @type {HTMLButtonElement} */ (
    h(
      "button",
      {
        ...{ class: "btn", type: "button", "aria-label": t("pencil.edit"), "aria-keyshortcuts": "E" },
        dataset: { testid: "pencil" },
      },
      h("span", { "aria-hidden": true }, "✎ "),
      h("span", { class: "word" }, t("pencil.edit")),
    )
  );
  const scopes = segment(t("pencil.scope"), SCOPES, "scope", () => "");
  // In the line of the steps there is not always room for the long words.
  for (const one of Object.values(scopes.buttons))
    one.append(h("span", { class: "brief" }), h("span", { class: "long" }));
  const says = h("span", { class: "dim", role: "status", dataset: { testid: "pencil-says" } });
  const box = h("div", { class: "pencil-tools" }, button, scopes.box, says);
  root.addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey, target, repeat } = event;
    if (key.toLowerCase() !== "e" || ctrlKey || metaKey || altKey || repeat || !button.checkVisibility()) return;
    if (/** @type {Element} */ (target).closest("textarea, input:not([type=range])")) return;
    event.preventDefault();
    button.click();
  });
  return {
    ...{ box, button, scopes, says },
    stroke: /** @type {Stroke|null} */ (null),
    pen: /** @type {Pen|null} */ (null),
    side: /** @type {string|null} */ (null), // whose tokens its columns are; null: nobody listens yet
  };
}

/** Shift and a click on a token of the text hides its column, or shows it again. @param {Pencil} pencil @param {HTMLElement} page */
function followTokens(pencil, page) {
  page.addEventListener("tokenline", (event) => {
    const { side, index } = /** @type {CustomEvent} */ (event).detail;
    if (!pencil.pen || side !== pencil.side || !pencil.button.checkVisibility()) return;
    event.preventDefault();
    pencil.pen.line({ col: index });
  });
}

/** Why the cells of what is open cannot be edited, as a key of the catalogue; null: they can. @param {HeadTrace} trace @param {State} state */
function whyNot(trace, state) {
  if (state.file !== null) return "pencil.saved";
  if (!has(trace.attention, "mask")) return "pencil.no_mask";
  const form =
    attentionState.of(state).as === "matrix" &&
    unitOf(trace, state) === "tokens" &&
    pairPartOf(trace, state) === "all" &&
    attentionState.of(state).average === "head";
  const weights = openAttentionStep(trace.attention, state) === "weights";
  return state.compare || (weights && !form) ? "pencil.other_form" : null;
}

/**
 * @param {Pencil} pencil @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {() => void} redraw  the matrix alone
 */
export function drawPencil(pencil, trace, state, actions, redraw) {
  const why = whyNot(trace, state);
  const away = state.lesson !== null || state.quiz;
  const may = !away && why === null;
  const on = may && isPencilOn(state);
  // At the mask it lies ready: it hides the chosen cell, or a drag; a first click only chooses.
  const ready = may && !on && openAttentionStep(trace.attention, state) === "masked";
  const { box, button, scopes, says } = pencil;
  box.hidden = away;
  box.parentElement?.classList.toggle("with-pencil", !away);
  box.closest(".station")?.classList.toggle("pencil-on", on);
  update(button, {
    "aria-pressed": on,
    "aria-disabled": why === null ? null : "true", // it still has the focus, which shows why
    title: t(why ?? "pencil.about"),
  });
  button.onclick = () => {
    if (why === null) actions.set(attentionState.patch({ pencil: on ? "off" : "on" }));
  };
  setText(/** @type {Element} */ (button.lastChild), t(on ? "pencil.done" : "pencil.edit"));
  scopes.box.hidden = !on;
  const { scope } = attentionState.of(state);
  scopes.show(scope, (name) => actions.set(attentionState.patch({ scope: name })));
  for (const name of SCOPES) {
    const word = name === "head" && showsMeans(trace.attention) ? "group" : name;
    const [brief, long] = scopes.buttons[name].children;
    setText(brief, t(`pencil.scope.${word}`));
    setText(long, t(`pencil.scope.${word}_long`, { layer: state.layer }));
    update(scopes.buttons[name], { title: t(`pencil.scope.${word}_about`) });
  }
  setText(says, "");
  if (pencil.side === null) followTokens(pencil, actions.page);
  pencil.side = trace.attention.keys;
  if (!on && !ready) pencil.stroke = null;
  pencil.pen = on || ready ? { ...penOf(pencil, trace, state, actions, redraw), ready } : null;
}

/** The open head and its mask without edits. @param {HeadTrace} trace @param {State} state @returns {Head} */
function headOf({ attention, attentions, detail, queries, keys }, state) {
  const { causal, padMask, hidden } = state;
  const later = queries === keys && (causal ?? attention.causal);
  const unseen = (/** @type {number} */ key) => padMask && (!inside(keys.real, key) || hidden.includes(key));
  const usual = (/** @type {number} */ query, /** @type {number} */ key) =>
    (later && key > query ? REASONS.causal : 0) | (unseen(key) ? REASONS.padding : 0);
  const head = {
    ...{ attention: attention.id, first: attentions[0].id, layer: detail.layer, head: detail.head },
    shape: /** @type {[number, number]} */ (detail.mask.shape),
  };
  return { ...head, base: baseUnder(detail.mask.data, state.interventions, head, usual) };
}

/** The newest edits of the run that is shown: its answer may still be to come. @param {State} state @param {Actions} actions */
function newestEdits(state, actions) {
  const newest = actions.get();
  if (newest.interventions === state.interventions) return state.interventions;
  const same = sameValue(runOf({ ...newest, interventions: [] }), runOf({ ...state, interventions: [] }));
  return same ? newest.interventions : state.interventions;
}

/**
 * The trace with the mask that the newest edits and the stroke of the pencil give; its weights are still the old ones.
 * @param {Pencil} pencil @param {HeadTrace} trace @param {State} state @param {Actions} actions @returns {HeadTrace}
 */
export function underEdits({ stroke }, trace, state, actions) {
  const newest = newestEdits(state, actions);
  if (!stroke && newest === state.interventions) return trace;
  if (!has(trace.attention, "mask")) return trace;
  const head = headOf(trace, state);
  const { scope } = attentionState.of(state);
  const mask = maskUnder(head, stroke ? edited(head, newest, { scope, ...stroke }) : newest);
  const { detail } = trace;
  const before = trace.detailBefore ?? (isTrained(state) ? detail : null);
  return { ...trace, detail: { ...detail, mask: { ...detail.mask, data: mask } }, detailBefore: before };
}

/**
 * @param {Pencil} pencil @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {() => void} redraw
 * @returns {Omit<Pen, "ready">}
 */
function penOf(pencil, trace, state, actions, redraw) {
  const head = headOf(trace, state);
  const newest = () => newestEdits(state, actions);
  const { scope } = attentionState.of(state);
  const set = (/** @type {Intervention[]} */ interventions) => {
    const chosen = position(state, trace); // also what was chosen because it was the most
    const one = actions.get();
    // what is set aside while the run before is shown comes back, with this stroke after it
    const change = (/** @type {State} */ now) =>
      now === one ? { interventions, ...chosen } : { interventions: [...now.interventions, ...interventions] };
    actions.set(editing(one, trace.model, change));
    redraw();
  };
  /** A state keeps no later key. @param {Cell} cell */
  const isFixed = ({ query, key }) =>
    isRecurrent(trace.attention) && Boolean(head.base[query * head.shape[1] + key] & REASONS.causal);
  return {
    over({ row, col }) {
      const cell = { query: row, key: col };
      const reasons = maskUnder(head, newest())[row * head.shape[1] + col];
      pencil.stroke ??= { allow: reasons !== 0, cells: [] };
      const { allow, cells } = pencil.stroke;
      const fixed = allow && isFixed(cell);
      setText(pencil.says, fixed ? t("pencil.fixed") : "");
      if (fixed || (reasons !== 0) !== allow || cells.some((one) => sameValue(one, cell))) return;
      pencil.stroke.cells = [...cells, cell];
      redraw();
    },
    end() {
      const { stroke } = pencil;
      pencil.stroke = null;
      if (stroke?.cells.length) set(edited(head, newest(), { scope, ...stroke }));
    },
    cancel() {
      pencil.stroke = null;
      redraw();
    },
    line(line) {
      const at = "row" in line ? { query: line.row } : { key: line.col };
      const { allow, cells } = flipped(head, newest(), at);
      const open = allow ? cells.filter((cell) => !isFixed(cell)) : cells;
      setText(pencil.says, open.length ? "" : t("pencil.fixed"));
      if (open.length) set(editedLine(head, newest(), { ...{ scope, allow }, line: at, cells: open }));
    },
  };
}
