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

/** What stays open while chips are drawn again: the fields of sentences, by what they are about. */
export function createHow() {
  const open = new Set();
  return {
    /**
     * The buttons of a chip, and its field; none for an edit that is no ablation of one part.
     * @param {Group} group @param {any} model @param {string} at @param {Change} set
     * @returns {{buttons: HTMLElement[], field: HTMLElement|null}}
     */
    of(group, model, at, set) {
      const edit = ablation(group);
      if (!edit) return { buttons: [], field: null };
      const key = JSON.stringify(edit.where);
      const field = fieldOf(edit, at, group, set);
      const show = (/** @type {boolean} */ shown) => {
        field.hidden = !shown;
        own.setAttribute("aria-expanded", String(shown));
      };
      const own = button("own", `own ${at}`, t("edits.to_own"), "…", () => {
        if (!open.delete(key)) open.add(key);
        show(open.has(key));
      });
      if (edit.over) open.add(key);
      show(open.has(key));
      return { buttons: [...stored(group, edit, model, at, set), own], field };
    },
  };
}

/** Zero, or the mean that the model stores. @param {Group} group @param {any} edit @param {any} model @param {string} at @param {Change} set */
function stored({ edits }, edit, model, at, set) {
  const isMean = edit.to === "mean";
  if (!isMean && !hasMean(edit, model)) return [];
  const by = isMean ? "zero" : "mean";
  const about = edit.over
    ? t("edits.to_zero_own")
    : t(`edits.to_${by}`, { n: integer(model.means.n), on: model.means.on });
  return [button("how", `how ${at}`, about, isMean ? "0" : "x̄", () => set((state) => replacedBy(state, edits, by)))];
}

/** @param {string} name @param {string} focus @param {string} about @param {string} sign @param {() => void} click */
function button(name, focus, about, sign, click) {
  const attrs = { class: "edit-remove", type: "button", "aria-label": about, title: about, on: { click } };
  return h("button", { ...attrs, dataset: { testid: `edit-${name}`, focus } }, sign);
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
