/** Remarks about an answer that are not errors: a language that the model was not trained on, connections that are hidden while the river is away. */

import { attentionsOf } from "../model/description.js";
import { knockoutsOf, withoutKnockouts } from "../model/interventions.js";
import { away } from "../river/panel.js";
import { h, hide, keepingFocus, replace } from "../ui/dom.js";
import { number } from "../ui/format.js";
import { language, languageName, phrase, t } from "../ui/i18n.js";
import { examplePatch, loadedOf } from "./examples.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Context } from "../page.js"
 * @import { State } from "../state/store.js"
 */

/** @param {HTMLElement} root @param {Context} context */
export function createNotes(root, { actions, frame, examples, declared, models }) {
  let drawn = "";
  const restore = () => actions.set({ interventions: withoutKnockouts(actions.get().interventions) });
  /** The sentence of a model's first example. @param {string} name @returns {Way|null} */
  const wayTo = (name) => {
    const found = loadedOf(examples, models).find(({ model }) => model === name);
    const text = found?.text; // an example of a picture has none
    return text ? { text, open: () => actions.set(examplePatch({ model: name, text }, declared)) } : null;
  };
  /** Read the same text again, with its special tokens or without. @param {boolean} special */
  const read = (special) => actions.set({ special, ids: null, nPrompt: null });
  /** @param {ModelTrace|null} trace @param {State} state @param {Error|null} error */
  return (trace, state, error) => {
    const notes = (!error && trace?.notes) || [];
    const n = trace && away(state) ? knockoutsOf(state.interventions, attentionsOf(trace.model)).length : 0;
    const content = JSON.stringify([trace?.model.name, notes, n, state.file]);
    hide(root, notes.length === 0 && n === 0, frame.sentence.input);
    if (content === drawn) return;
    drawn = content;
    // A saved trace is as it is.
    const back = n > 0 && state.file === null && button("note-restore", t("river.restore", { n }), restore);
    const draw = () =>
      replace(
        root,
        trace && notes.map((note) => h("p", null, wordsOf(note, trace, { open: actions.openModel, wayTo, read }))),
        n > 0 && h("p", null, t("river.cut_many", { n }), back),
      );
    keepingFocus(root, draw, frame.sentence.input);
  };
}

/** @param {string} testid @param {string} text @param {() => void} click */
const button = (testid, text, click) =>
  h("button", { class: "link", type: "button", dataset: { testid }, on: { click } }, text);

/** @typedef {{text: string, open: () => void}} Way  a sentence that the model reads, and what opens it */

/**
 * Says that only the end of a long text was read; that the tokenizer has more tokens than the model; or that the model does not read its language, which models do, and a
 * sentence to continue with.
 * @param {ModelTrace["notes"][number]} note
 * @param {ModelTrace} trace
 * @param {{open: (name: string) => void, wayTo: (name: string) => Way|null, read: (special: boolean) => void}} ways
 */
function wordsOf(note, trace, { read: readAs, ...ways }) {
  if (note.code === "special") return specialWords(note, readAs);
  if (note.code === "token_types") return t("note.token_types", { second: note.second ?? 0 });
  if (note.code === "language_codes") return codeWords(note);
  if (note.code === "lacking") return t("note.lacking", { n: number(note.n_tokens ?? 0, 0) });
  if (note.code !== "windowed") return languageWords(note, trace, ways);
  const [n, read] = [note.n_tokens ?? 0, note.n_read ?? 0].map((one) => number(one, 0));
  return t("note.windowed", { n, read });
}

/** That a text spells special tokens, how it was read, and a click for the other way. @param {ModelTrace["notes"][number]} note @param {(special: boolean) => void} readAs */
function specialWords({ names = [], read = false }, readAs) {
  const spelt = names.map((name, i) => [i > 0 && t("compare.comma"), h("code", { translate: "no" }, name)]);
  const said = phrase(read ? "note.special_read" : "note.special_text", { names: h("span", null, spelt) });
  return [said, " ", button("note-special", t(read ? "note.read_text" : "note.read_special"), () => readAs(!read))];
}

/** The languages that a translator was told: of the text, and of what it writes. @param {{source?: string|null, target?: string|null}} codes  `en_XX`, `__en__` or `eng_Latn` */
export function codeWords({ source, target }) {
  const vars = (/** @type {string} */ code) => ({
    code,
    language: languageName(code.match(/[a-z]{2,3}/)?.[0] ?? code),
  });
  const read = source ? [t("note.read_as", vars(source))] : [];
  return [...read, target ? t("note.begins_with", vars(target)) : t("note.begins_without")];
}

/** The text's language, which the model does not read. @param {ModelTrace["notes"][number]} note @param {ModelTrace} trace @param {{open: (model: string) => void, wayTo: (name: string) => Way|null}} ways */
function languageWords({ language: code, trained, models, writers = [] }, { model: { name } }, { open, wayTo }) {
  const vars = {
    language: languageName(code),
    model: name,
    trained: new Intl.ListFormat([language()]).format(trained.map(languageName)),
  };
  const writes = writers.includes(name);
  const links = models.map((one, i) => [i > 0 && t("compare.comma"), link(one, () => open(one))]);
  const who = models.length
    ? phrase("note.readers", { ...vars, models: h("span", null, links) })
    : t("note.no_reader", vars);
  const said = writes ? t("note.translates", vars) : [t("note.untrained_language", vars), who];
  return [said, exampleWords(wayTo(name))];
}

/** @param {Way|null} way */
const exampleWords = (way) => (way ? phrase("note.example", { text: button("note-example", way.text, way.open) }) : []);

/** @param {string} name @param {() => void} click */
function link(name, click) {
  const attrs = { class: "link", type: "button", dataset: { testid: "note-model", model: name } };
  return h("button", { ...attrs, on: { click } }, name);
}
