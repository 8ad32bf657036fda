/** What is changed in the run, next to the masks: the hidden connections as a chip, before | after, and one Undo for every edit. */

import { compared, isTrained, keepingPlace } from "../model/compare/runs.js";
import { attentionOf, attentionsOf, has } from "../model/description.js";
import { knockoutsOf, withoutKnockouts } from "../model/interventions.js";
import { namesOf, nameText } from "../model/labels.js";
import { sideOf } from "../model/sides.js";
import { changedWords, runWords } from "../ui/compare_words.js";
import { switchRow } from "../ui/controls.js";
import { h, replace, setText, update } from "../ui/dom.js";
import { phrase, t } from "../ui/i18n.js";
import { attentionState } from "./view_states.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Model } from "../model/description.js"
 * @import { Edge } from "../model/interventions.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Actions } from "./view.js"
 */

/** @param {Actions} actions @param {() => Model} model  of what is shown @param {(patch: Patch) => void} set  sets masks */
export function createEdits(actions, model, set) {
  const what = h("span");
  const restore = () => set({ interventions: withoutKnockouts(actions.get().interventions) });
  const hidden = h(
    "button",
    { class: "hidden-edges", type: "button", dataset: { testid: "edit-hidden" }, on: { click: restore } },
    what,
    h("span", { "aria-hidden": true }, "×"),
  );
  const compare = switchRow("compare", t("masks.compare"), (on) =>
    // two runs are compared in their weights, whatever step is open
    actions.set({ compare: on, against: null, ...(on ? attentionState.patch({ step: "weights" }) : null) }),
  );
  const undo = h(
    "button",
    {
      class: "btn undo",
      type: "button",
      title: `${t("note.as_trained")} (Alt + U)`,
      "aria-keyshortcuts": "Alt+U",
      dataset: { testid: "note-masks" },
      on: { click: () => set(trainedAgain(actions.get(), model())) },
    },
    t("masks.undo"),
  );
  const changed = h("span", { class: "what", dataset: { testid: "changed" } });
  const row = h("div", { class: "edits" }, changed, hidden, compare.row, undo);
  return {
    row,
    undo,
    /** @param {ModelTrace|null} trace @param {State} state @param {boolean} noSwitch  it has no causal mask to switch */
    draw(trace, state, noSwitch) {
      const now = model();
      const edges = state.file === null ? knockoutsOf(state.interventions, attentionsOf(now)) : [];
      hidden.hidden = edges.length === 0;
      if (edges.length) {
        replace(what, ...hiddenWords(edges, trace));
        update(hidden, { title: t("river.restore", { n: edges.length }) });
      }
      undo.hidden = state.file !== null || (state.causal === null && state.padCount === 0 && edges.length === 0);
      const nothing = isTrained(state) || !has(attentionOf(now, state.attention), "overview");
      compare.row.hidden = !state.compare && (nothing || (noSwitch && isTrained(state)));
      const { before, after } = compared(state, now);
      const runs = { before: runWords(before, now), after: runWords(after, now) };
      compare.set(state.compare, t("masks.compare_about", runs), "");
      row.hidden = compare.row.hidden && undo.hidden;
      setText(changed, row.hidden ? "" : changedWords(state, now));
    },
  };
}

/** The change that undoes all of them; what is chosen stays on its token. @param {State} state @param {Model} model @returns {Patch} */
function trainedAgain(state, model) {
  const masks = { causal: null, padMask: true, padFollow: true, padCount: 0 };
  const place = state.padCount ? keepingPlace(state, { padCount: 0 }, model) : null;
  return { ...masks, ...place, interventions: [] };
}

/** "red₂ ↛ car · head 5·5"; of several pairs of tokens their number. @param {Edge[]} edges @param {ModelTrace|null} trace */
function hiddenWords(edges, trace) {
  const [{ attention, query, key, layer, head }] = edges;
  const open = trace?.attentions.find(({ id }) => id === attention);
  const one = edges.every((edge) => edge.attention === attention && edge.query === query && edge.key === key);
  const n = edges.length;
  if (!trace || !open || !one || (n > 1 && edges.some((edge) => edge.head !== undefined)))
    return [t("edits.many", { n })];
  const name = (/** @type {"queries"|"keys"} */ end, /** @type {number} */ at) => {
    const token = namesOf(sideOf(trace.sides, open[end]).tokens)[at];
    return h("b", { translate: "no" }, token ? nameText(token) : String(at));
  };
  const where = n > 1 ? "layers" : head === undefined ? "layer" : "head";
  return phrase(`edits.${where}`, {
    query: name("queries", query),
    key: name("keys", key),
    layer,
    head: head ?? "",
    layers: n,
  });
}
