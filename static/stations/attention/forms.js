/** How the weights are drawn: as a matrix or as lines, over tokens, characters or words. */

import { UNITS } from "../../model/token_groups.js";
import { segment } from "../../ui/controls.js";
import { h, replace, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { lines as chosenLines } from "./chosen.js";
import { drawGroupedWeights } from "./grouped.js";
import { own } from "./own.js";
import { canSumCharacters, unitOf } from "./unit_cells.js";

const FORMS = /** @type {const} */ (["matrix", "lines"]);

export function buildForms() {
  const forms = segment(t("lines.choose"), FORMS, "lines", (name) => t(`lines.${name}`));
  const units = segment(t("groups.choose"), UNITS, "groups", (name) => t(`groups.${name}`));
  const heads = h("div", { class: "line-choice" });
  const note = h("p", { class: "dim", dataset: { testid: "groups-note" } });
  const options = h("div", { class: "forms" }, h("div", { class: "forms-row" }, heads), note);
  const places = { grouped: h("div", null), lines: h("div", null) };
  return { forms, units, heads, note, options, places };
}

/**
 * Draws another form than the matrix over tokens, if one is chosen.
 * @param {ReturnType<typeof buildForms>} parts
 * @returns {boolean} whether it did; the matrix is then not drawn
 */
export function drawForms(parts, trace, state, actions) {
  const [form, unit] = [state.compare ? "matrix" : own.of(state).as, unitOf(trace, state)];
  parts.forms.show(form, (name) =>
    actions.set({ ...own.patch({ as: name }), ...(name === "lines" && { compare: false, against: null }) }),
  );
  parts.units.show(unit, (name) => actions.set(own.patch({ unit: name })));
  parts.units.box.hidden = Boolean(trace.model.picture);
  const none = !canSumCharacters(trace);
  update(parts.units.buttons.characters, { disabled: none, title: none ? t("groups.no_characters") : null });
  const [lines, grouped] = [form === "lines", form === "matrix" && unit !== "tokens" && !state.compare];
  parts.options.hidden = !lines && (unit === "tokens" || state.compare);
  parts.heads.hidden = !lines;
  parts.note.hidden = unit === "tokens";
  replace(parts.note, unit !== "tokens" && t(`groups.note_${unit}`));
  parts.places.lines.hidden = !lines;
  parts.places.grouped.hidden = !grouped;
  if (lines) chosenLines.code?.drawLineHeads(parts.heads, trace, state, actions);
  if (lines) chosenLines.code?.drawWeightLines(parts.places.lines, trace, state, actions);
  if (grouped) drawGroupedWeights(parts.places.grouped, trace, state, actions);
  return lines || grouped;
}
