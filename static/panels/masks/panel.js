/** The masks panel: what a position may see, PADs beside the sentence, and the comparison with training. */

import { leakOfHead } from "../../model/compare/measure.js";
import { causalIn, compared, isTrained } from "../../model/compare/runs.js";
import { openSquare } from "../../model/compare/square.js";
import { attentionOf, attentionsOf, has, isRecurrent, trainedCausal, writesTarget } from "../../model/description.js";
import { everyLayer, openedLayers } from "../../model/layer_mask.js";
import { own } from "../../stations/attention/own.js";
import { runWords } from "../../ui/compare_words.js";
import { switchRow } from "../../ui/controls.js";
import { h, replace } from "../../ui/dom.js";
import { integer, percent } from "../../ui/format.js";
import { keyFor, t } from "../../ui/i18n.js";
import { createPadding } from "./padding.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Leak } from "../../model/compare/measure.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../stations/index.js"
 */

/**
 * @param {HTMLElement} root @param {Actions} actions
 * @param {(state: State) => any} modelOf
 * @returns {(trace: ModelTrace|null, state: State) => void}
 */
export function createMasks(root, actions, modelOf) {
  const model = () => modelOf(actions.get());
  const causal = switchRow("causal", t("masks.causal"), (on) => actions.set(everyLayer(actions.get(), on, model())));
  const padding = createPadding(actions, model);
  const compare = switchRow("compare", t("masks.compare"), (on) =>
    // two runs are compared in their weights, whatever step is open
    actions.set({ compare: on, against: null, ...(on ? own.patch({ step: "weights" }) : null) }),
  );
  const always = h(
    "p",
    { class: "dim pooled", hidden: true, dataset: { testid: "always-causal" } },
    t("masks.always_causal"),
  );
  replace(root, causal.row, always, padding.rows, compare.row);

  return (trace, state) => {
    const now = model();
    const shown = trace && trace.model.name === now.name ? trace : null;
    const leak = shown && leakNow(shown, state);
    const on = causalIn(state, now);
    const about = writesTarget(now) ? "masks.causal_about_target" : "masks.causal_about";
    const layers = on ? openedLayers(state, now).map(({ where }) => where.layer) : [];
    const effectNow = shown && shown.causal === on ? effect(shown, state, leak) : "";
    if (layers.length)
      causal.set(false, t(about), t("masks.off_in_now", { n: layers.length, layers: layers.join(", ") }));
    else causal.set(on, t(about), effectNow);
    const noSwitch = attentionsOf(now).every(isRecurrent);
    causal.row.hidden = noSwitch;
    always.hidden = !noSwitch;
    padding.draw(shown, state, leak);
    const { before, after } = compared(state, now);
    const same = noSwitch && isTrained(state);
    compare.row.hidden = !state.compare && (same || !has(attentionOf(now, state.attention), "overview")); // there is nothing to compare
    compare.set(
      state.compare,
      t("masks.compare_about", { before: runWords(before, now), after: runWords(after, now) }),
      "",
    );
  };
}

/**
 * The leak of the open head, from its float32; null until that arrives.
 * @returns {Leak|null}
 */
function leakNow(trace, { layer, head }) {
  const { detail, attention } = trace;
  if (detail?.layer !== layer || detail?.head !== head || detail.attention !== attention.id) return null;
  if (!has(attention, "overview")) return null; // an attention without an overview
  return leakOfHead(openSquare(trace, detail));
}

/** The current effect of the causal mask, counted in the trace. */
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
