/** What takes the place of a part that is off: zero, its stored mean, or its mean over sentences that the reader gives. */

import { canMean, hasMean, meanOver, replacedBy } from "../model/formula_edits.js";
import { h } from "../ui/dom.js";
import { integer } from "../ui/format.js";
import { t } from "../ui/i18n.js";

/**
 * @import { Edited, Group } from "../model/edits.js"
 * @import { State } from "../state/store.js"
 */

/** Makes a change of the edits. @typedef {(change: (state: State) => Edited) => void} Change */

/** The most sentences that the server takes. */
const MOST = 16;

/** The one edit of a group that ablates a part; null: it has another kind, or several. @param {Group} group */
function ablation(group) {
  if (group.edits.length !== 1) return null;
  if (group.kind === "other") return canMean(group.edit) ? group.edit : null;
  return group.kind === "head" ? { kind: "ablate", where: { ...group.head } } : null;
}

/** The choice in each row of the list; what is not in an edit yet is a field without sentences, while it has the focus. */
export function createHow() {
  let asked = ""; // about what a field was opened
  return {
    /**
     * The choice in a row of the list, and its field; none for an edit that is no ablation of one part.
     * @param {Group} group @param {any} model @param {string} at @param {Change} set
     * @returns {{choice: HTMLElement|null, field: HTMLElement|null}}
     */
    of(group, model, at, set) {
      const edit = ablation(group);
      if (!edit) return { choice: null, field: null };
      const key = JSON.stringify(edit.where);
      const isTyped = asked === key && focusName() === `over ${at}`; // the list is drawn again under the reader
      const made = edit.over ? "own" : edit.to === "mean" ? "mean" : "zero";
      const field = fieldOf(edit, at, group, set);
      const show = (/** @type {string} */ value) => {
        field.hidden = value !== "own";
      };
      const choose = (/** @type {string} */ value) => {
        show(value);
        if (value !== "own") return set((state) => replacedBy(state, group.edits, value === "mean" ? "mean" : "zero"));
        asked = key;
        field.focus();
      };
      const offered = ["zero", ...(hasMean({ ...edit, over: undefined }, model) ? ["mean"] : []), "own"];
      const choice = choiceOf(offered, isTyped ? "own" : made, model, at, choose);
      show(choice.value);
      // It stays in sight, so that nothing moves under the pointer that left it.
      field.addEventListener("blur", () => {
        if (!sentencesIn(field.value).length) choice.value = made === "own" ? "zero" : made;
      });
      return { choice, field };
    },
  };
}

/** What has the keyboard's focus. */
const focusName = () => /** @type {HTMLElement|null} */ (document.activeElement)?.dataset?.focus;

/** @param {string[]} offered @param {string} now @param {any} model @param {string} at @param {(value: string) => void} choose */
function choiceOf(offered, now, model, at, choose) {
  const about = offered.includes("mean") && t("edits.to_mean", { n: integer(model.means.n), on: model.means.on });
  const attrs = { class: "edit-how", "aria-label": t("edits.value"), title: about || null };
  const data = { testid: "edit-how", focus: `how ${at}` };
  const options = offered.map((value) =>
    h("option", { value }, t(`edits.value_${value}`, { n: integer(model.means?.n ?? 0) })),
  );
  const choice = /** @type {HTMLSelectElement} */ (
    h("select", { ...attrs, dataset: data, on: { change: () => choose(choice.value) } }, options)
  );
  choice.value = now;
  return choice;
}

/** One sentence a line. @param {any} edit @param {string} at @param {Group} group @param {Change} set */
function fieldOf(edit, at, { edits }, set) {
  const about = t("edits.own_sentences", { n: MOST });
  const attrs = { class: "edit-own", rows: 3, "aria-label": about, placeholder: about };
  const field = /** @type {HTMLTextAreaElement} */ (
    h("textarea", { ...attrs, dataset: { testid: "edit-over", focus: `over ${at}` } })
  );
  field.value = (edit.over ?? []).join("\n");
  field.addEventListener("change", () => set((state) => meanOver(state, edits, sentencesIn(field.value))));
  return field;
}

/** @param {string} text  one sentence a line */
export const sentencesIn = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .slice(0, MOST);
