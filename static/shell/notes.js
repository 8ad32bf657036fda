/** Remarks about an answer that are not errors: a language that the model was not trained on, lines that are cut, masks that are not seen. */

import { cutsOf, uncut } from "../model/cuts.js";
import { attentionsOf } from "../model/description.js";
import { away } from "../river/panel.js";
import { atLeast } from "../state/levels.js";
import { h, hide, keepingFocus, replace } from "../ui/dom.js";
import { language, phrase, t } from "../ui/i18n.js";

/** @param {HTMLElement} root @param {import("../page.js").Context} context */
export function createNotes(root, { actions, frame }) {
  let drawn = "";
  const asTrained = () => actions.set({ causal: null, padCount: 0, padMask: true, padFollow: true });
  const restore = () => actions.set({ interventions: uncut(actions.get().interventions) });
  /** @param {import("../data/model_trace.js").ModelTrace|null} trace @param {import("../state/store.js").State} state @param {Error|null} error */
  return (trace, state, error) => {
    const notes = (!error && trace?.notes) || [];
    const n = trace && away(state) ? cutsOf(state.interventions, attentionsOf(trace.model)).length : 0;
    const masked = trace !== null && !atLeast(state, "understand") && (state.causal !== null || state.padCount > 0);
    const content = JSON.stringify([trace?.model.name, notes, n, masked, state.file]);
    hide(root, notes.length === 0 && n === 0 && !masked, frame.sentence.input);
    if (content === drawn) return;
    drawn = content;
    // A saved trace is as it is.
    const reset = state.file === null && button("note-masks", t("note.as_trained"), asTrained);
    const back = n > 0 && state.file === null && button("note-restore", t("river.restore", { n }), restore);
    const draw = () =>
      replace(
        root,
        notes.map((note) => h("p", null, wordsOf(note, trace, actions.openModel))),
        n > 0 && h("p", null, t("river.cut_many", { n }), back),
        masked && h("p", null, t("note.masks"), " ", reset),
      );
    keepingFocus(root, draw, frame.sentence.input);
  };
}

/** @param {string} testid @param {string} text @param {() => void} click */
const button = (testid, text, click) =>
  h("button", { class: "link", type: "button", dataset: { testid }, on: { click } }, text);

function wordsOf({ language: code, trained, models }, trace, open) {
  const vars = {
    language: languageName(code),
    model: trace.model.name,
    trained: trained.map(languageName).join(t("compare.comma")),
  };
  const key = models.length ? "note.untrained_language" : "note.untrained_language_none";
  const links = models.map((name, i) => [i > 0 && t("compare.comma"), link(name, open)]);
  return phrase(key, { ...vars, models: h("span", null, links) });
}

function link(name, open) {
  const on = { click: () => open(name) };
  return h("button", { class: "link", type: "button", dataset: { testid: "note-model", model: name }, on }, name);
}

/** "ja" → "Japanese"; the name of a script ("cyrillic") as it is. @param {string} code */
export function languageName(code) {
  try {
    return code.length <= 3 ? (new Intl.DisplayNames([language()], { type: "language" }).of(code) ?? code) : code;
  } catch {
    return code;
  }
}
