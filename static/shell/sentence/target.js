/**
 * The target of an encoder-decoder: its own translation, or the reader's text, read as if the model had written it.
 */

import { keyOf } from "../../data/request.js";
import { attentionsOf, writesTarget } from "../../model/description.js";
import { h, replace, setText } from "../../ui/dom.js";
import { languageName, t } from "../../ui/i18n.js";
import { showProblem } from "../status.js";
import { createStrip } from "./strip.js";
import { directionOf, wayBack } from "./translation_sides.js";
import { createGrowing, createTyping } from "./typing.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 * @import { SentenceParts } from "../frame.js"
 */

/** @param {SentenceParts} parts @param {Context} context */
export function createTarget(parts, { actions, modelOf }) {
  const { targetRow: row, target: input, targetAbout: about, targetOwn: own, targetSwitch: back } = parts;
  const drawStrip = createStrip(parts.targetStrip, actions, "target");
  const grow = createGrowing(input);
  const typing = createTyping(input, (target) => actions.set({ target, targetIds: null }));
  own.addEventListener("click", () => {
    actions.set({ target: null, targetIds: null, ...atEnd(actions.get(), modelOf) });
    input.focus();
  });

  back.addEventListener("click", () => {
    actions.set({ ...swapped(input.value), ...UNCHOSEN });
    parts.input.focus();
  });

  /**
   * @param {ModelTrace|null} trace @param {State} state
   * @param {Error|null} error  about the target
   */
  return (trace, state, error) => {
    const shown = trace?.sides.target ? trace : null;
    row.hidden = !writesTarget(modelOf(state));
    drawStrip(row.hidden ? null : shown, state);
    parts.targetStrip.hidden = row.hidden || !shown;
    showProblem(parts.targetProblem, input, row.hidden ? null : error);
    if (row.hidden) return;
    const isOwn = state.target === null && state.targetIds === null;
    const text = state.target ?? shown?.targetText ?? "";
    if (!typing.pending() && input.value !== text) input.value = text;
    grow();
    input.readOnly = state.file !== null;
    own.hidden = isOwn || state.file !== null;
    drawSwitch(back, modelOf(state), state, text);
    row.classList.toggle("stale", shown?.key !== keyOf(state));
    setText(about, t(`target.${kindOf(state, shown)}`));
  };
}

/** Says whether the target is the model's or the reader's. @param {State} state @param {ModelTrace|null} trace */
function kindOf({ target, targetIds, file }, trace) {
  if (file !== null) return trace?.targetFrom === "greedy" ? "greedy" : "saved";
  if (targetIds) return "taken";
  if (target === null) return "greedy";
  return target === "" ? "empty" : "typed";
}

/** A new target has new rows: the last one is chosen if they belong to the open head. @param {State} state @param {Context["modelOf"]} modelOf */
function atEnd(state, modelOf) {
  return attentionsOf(modelOf(state)).length > 1 && state.attention !== "encoder" ? { query: null, key: null } : {};
}

/** The translation becomes the sentence, and the model translates it back. @param {string} text */
const swapped = (text) => ({ text, ids: null, nPrompt: null, target: null, targetIds: null });
const UNCHOSEN = { query: null, key: null, answer: null };

/** Offered where the model translates both ways. @param {HTMLElement} button @param {any} model @param {State} state @param {string} text  the translation */
function drawSwitch(button, model, state, text) {
  const back = wayBack(model, directionOf(model, state.text));
  button.hidden = !back || !text.trim() || state.file !== null;
  if (!back) return;
  const [from, to] = back.map(languageName);
  if (!button.firstChild)
    replace(button, h("span", { "aria-hidden": true }, "⇄ "), h("span", { class: "word" }, t("target.switch")));
  button.title = t("target.switch_about", { from, to });
}
