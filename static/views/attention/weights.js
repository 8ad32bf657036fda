/** The last step, the weights: as they are, in another form, or before and after a change of the masks. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, weightScale } from "../../chart/matrix/scale.js";
import { isCompared } from "../../model/compare/runs.js";
import { REASONS } from "../../model/mask_edits.js";
import { UNITS } from "../../model/token_groups.js";
import { segment } from "../../ui/controls.js";
import { h, replace, update } from "../../ui/dom.js";
import { cellWeight, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedLabel } from "../../ui/token_text.js";
import { drawWeights, handTint, leakMargin, reasonOf } from "../query_key.js";
import { attentionState } from "../view_states.js";
import { both, lines as chosenLines, lines } from "./steps.js";
import { canSumCharacters, pairPartOf, showPart, unitCells, unitOf } from "./unit_cells.js";

/**
 * @import { Pen } from "../../chart/matrix/matrix.js"
 * @import { Detail, HeadTrace } from "../../data/model_trace.js"
 * @import { Group } from "../../model/token_groups.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Part } from "./unit_cells.js"
 */

// The matrix of the open head over characters or words, or of one text of a pair to the other. Of a group's tokens keys
// are summed and queries averaged, as its axes say.

/** The words of a part: "A → B". @param {Part} part */
export const partName = (part) => (part === "all" ? t("pair.all") : [...part.toUpperCase()].join(" → "));

/** @param {{unit: string, part: Part}} units */
function wordsOf({ unit, part }) {
  const title = unit === "tokens" ? t("matrix.weights") : t(`groups.title_${unit}`);
  return {
    id: ["weights", ...(part === "all" ? [] : [part]), ...(unit === "tokens" ? [] : [unit])].join("-"),
    title: part === "all" ? title : `${title}, ${partName(part)}`,
    rows: unit === "tokens" ? t("matrix.query_axis") : t(`groups.rows_${unit}`),
    cols: unit === "tokens" ? t("matrix.key_axis") : t(`groups.cols_${unit}`),
  };
}

/**
 * @param {HTMLElement} root @param {HeadTrace} trace
 * @param {State} state @param {Actions} actions
 */
function drawGroupedWeights(root, trace, state, actions) {
  const units = unitCells(trace, state);
  const { values, shape, forbidden } = units.cells(trace.detail.overview.data);
  const [rows, cols] = [units.rows.labels, units.cols.labels];
  const size = (/** @type {{groups: Group[]}} */ { groups }, /** @type {number} */ i) =>
    groups[i].end - groups[i].start;
  const at = (/** @type {number} */ row, /** @type {number} */ col) => row * shape[1] + col;
  const words = (/** @type {number} */ row, /** @type {number} */ col) => {
    if (forbidden?.[at(row, col)]) return t("matrix.forbidden", { reason: reasonOf(forbidden[at(row, col)]) });
    const value = significant(values[at(row, col)]);
    if (units.unit === "tokens") return t("matrix.weight", { value });
    return t("groups.weight", { value, keys: size(units.cols, col), queries: size(units.rows, row) });
  };
  const said = wordsOf(units);
  drawMatrix(root, {
    id: said.id,
    title: said.title,
    label: t(units.unit === "tokens" ? "pair.matrix" : "groups.label", {
      layer: state.layer,
      head: state.head,
      unit: t(`groups.${units.unit}`),
      part: partName(units.part),
      rows: rows.length,
      cols: cols.length,
    }),
    values,
    shape,
    forbidden,
    rows: { labels: rows, title: said.rows, role: "q" },
    cols: { labels: cols, title: said.cols, role: "k" },
    scale: weightScale(),
    cellText: cellWeight,
    hover: (row, col) => [`${rows[row]} → ${cols[col]}`, words(row, col)],
    tableText: (row, col) =>
      forbidden?.[at(row, col)] ? t("matrix.forbidden_word") : significant(values[at(row, col)]),
    describe: (row, col) =>
      phrase("matrix.cell", {
        query: namedLabel(rows[row], "q"),
        key: namedLabel(cols[col], "k"),
        words: words(row, col),
      }),
    chosen: { row: units.chosen.q, col: units.chosen.k, span: "cell", role: "q" },
    onChoose: (row, col) => actions.set(units.choose(row, col)),
    square: true,
    sums: true,
    filename: `chumoku-layer${state.layer}-head${state.head}-${said.id}`,
  });
}

/** How the weights are drawn: as a matrix or as lines, over tokens, characters or words. */
const FORMS = /** @type {const} */ (["matrix", "lines"]);
const PARTS = /** @type {const} */ (["all", "aa", "ab", "ba", "bb"]);

export function buildForms() {
  const forms = segment(t("lines.choose"), FORMS, "lines", (name) => t(`lines.${name}`));
  const units = segment(t("groups.choose"), UNITS, "groups", (name) => t(`groups.${name}`));
  const pairs = segment(t("pair.choose"), PARTS, "part", partName);
  const heads = h("div", { class: "line-choice" });
  const note = h("p", { class: "dim", dataset: { testid: "groups-note" } });
  const options = h("div", { class: "forms" }, h("div", { class: "forms-row" }, heads), note);
  const places = { grouped: h("div", null), lines: h("div", null) };
  return { forms, units, pairs, heads, note, options, places };
}

/**
 * Draws another form than the matrix over tokens, if one is chosen.
 * @param {ReturnType<typeof buildForms>} parts @param {HeadTrace} trace @param {State} state @param {Actions} actions
 * @returns {boolean} whether it did; the matrix is then not drawn
 */
function drawForms(parts, trace, state, actions) {
  const [form, unit] = [state.compare ? "matrix" : attentionState.of(state).as, unitOf(trace, state)];
  parts.forms.show(form, (name) =>
    actions.set({ ...attentionState.patch({ as: name }), ...(name === "lines" && { compare: false, against: null }) }),
  );
  parts.units.show(unit, (name) => actions.set(attentionState.patch({ unit: name })));
  parts.units.box.hidden = Boolean(trace.model.picture);
  const none = !canSumCharacters(trace);
  update(parts.units.buttons.characters, { disabled: none, title: none ? t("groups.no_characters") : null });
  const part = pairPartOf(trace, state);
  parts.pairs.box.hidden = state.compare || trace.queries.second === null || trace.keys.second === null;
  parts.pairs.show(part, (name) => actions.set(showPart(trace, state, name)));
  const isWhole = unit === "tokens" && part === "all";
  const [lines, grouped] = [form === "lines", form === "matrix" && !isWhole && !state.compare];
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

/**
 * @typedef {{places: {alone: HTMLElement, both: HTMLElement}, forms: ReturnType<typeof buildForms>, legend: HTMLElement,
 *   pencil: {pen: Pen|null}}} Parts
 */

/**
 * @param {Parts} parts @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {(place: HTMLElement, draw: () => void) => void} morph
 */
export function drawWeightsStep({ places, forms, legend, pencil }, trace, state, actions, morph) {
  const compared = isCompared(state, trace.model);
  const details = [trace.detail, ...(compared ? [/** @type {Detail} */ (trace.comparedDetail)] : [])];
  const forbidden = details.some(({ mask }) => mask.data.some(Boolean)) ? t("matrix.hatched") : null;
  const ramp = scaleLegend(weightScale(), { number: String, forbidden });
  if (details.some(({ mask }) => mask.data.includes(REASONS.edited))) ramp.append(...handLegend());
  replace(legend, lines.code?.linesLegend(trace, state) ?? ramp);
  places.both.hidden = !compared;
  places.alone.hidden = drawForms(forms, trace, state, actions) || compared;
  if (compared) both.draw(places.both, trace, state, actions);
  else if (!places.alone.hidden) morph(places.alone, () => drawOne(places.alone, trace, state, actions, pencil.pen));
}

/** What is hidden by hand, as a swatch. */
const handLegend = () => [
  h("span", { class: "swatch", style: { "background-color": handTint() } }),
  h("span", null, t("matrix.mask.edited")),
];

/** @param {HTMLElement} place @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {Pen|null} pen */
function drawOne(place, trace, state, actions, pen) {
  const { detail } = trace;
  const margin = leakMargin(trace, detail);
  drawWeights(place, trace, state, actions, { id: "weights", title: t("matrix.weights"), detail, margin, pen });
}
