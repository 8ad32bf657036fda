/** The sentence bar: what is typed is traced as it is typed; what is wrong with it is said right under it. */

import { keyOf } from "../../data/request.js";
import { attentionsOf } from "../../model/description.js";
import { setText } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { createNotes } from "../notes.js";
import { showProblem, tookText } from "../status.js";
import { createStrip } from "./strip.js";
import { createTarget } from "./target.js";
import { createTyping } from "./typing.js";

/** @param {HTMLElement} root @param {import("../../controls.js").Context} context @returns {import("../../controls.js").Draw} */
export function createSentence(root, context) {
  const { actions, status } = context;
  const part = (name) => /** @type {any} */ (root.querySelector(`[data-part="${name}"]`));
  const [input, took] = [part("input"), part("took")];
  const drawStrip = createStrip(part("strip"), actions, "source");
  const drawTarget = createTarget(part, context);
  const drawNotes = createNotes(part("notes"), context);
  const typing = createTyping(input, (text) => actions.set({ text, ids: null, nPrompt: null, targetIds: null }));
  typing.takeEarly();
  let said = "";

  return (trace, state, error) => {
    const written = state.file !== null || (state.ids && !state.text);
    const text = written && trace ? trace.text : state.text;
    if (!typing.pending() && input.value !== text) input.value = text;
    const isTarget = String(/** @type {any} */ (error)?.where ?? "").startsWith("target");
    showProblem(part("problem"), input, isTarget ? null : error);
    drawStrip(trace, state);
    drawTarget(trace, state, isTarget ? error : null);
    drawNotes(trace, error);
    root.classList.toggle("stale", error !== null || trace?.key !== keyOf(state));
    const shown = trace && !error;
    setText(took, shown ? tookText(trace) : "");
    if (shown && trace.key !== said) {
      said = trace.key;
      status.say(drawnWords(trace));
      document.body.dataset.traced = trace.key;
    }
  };
}

/** "7 tokens, 48 heads drawn". @param {import("../../data/model_trace.js").ModelTrace} trace */
function drawnWords({ sides, model, nLayer, nHead }) {
  const counts = [sides.source, sides.target].map((side) => side && t("sentence.tokens", { n: side.tokens.length }));
  const heads = attentionsOf(model).length * nLayer * nHead;
  return t("status.drawn", { tokens: counts.filter(Boolean).join(" → "), heads });
}
