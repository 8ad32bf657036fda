/** The last step, the weights: as they are, in another form, or before and after a change of the masks. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, weightScale } from "../../chart/matrix/scale.js";
import { averageOf, canAverage } from "../../model/averages.js";
import { isCompared } from "../../model/compare/runs.js";
import { memo } from "../../model/memo.js";
import { REASONS } from "../../model/taps.js";
import { UNITS } from "../../model/token_groups.js";
import { segment } from "../../ui/controls.js";
import { h, replaceChanged, update } from "../../ui/dom.js";
import { cellWeight, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedLabel } from "../../ui/token_text.js";
import { drawWeights, freedOf, handLegend, hatchLegend, leakMargin, reasonOf, struckOf } from "../query_key.js";
import { AVERAGES, attentionState } from "../view_states.js";
import { averageNeeds, both, lines as chosenLines, lines } from "./steps.js";
import { canSumCharacters, pairPartOf, showPart, unitCells, unitOf } from "./unit_cells.js";

/**
 * @import { Pen } from "../../chart/matrix/matrix.js"
 * @import { Detail, HeadTrace } from "../../data/model_trace.js"
 * @import { Average } from "../../model/averages.js"
 * @import { Group } from "../../model/token_groups.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Part } from "./unit_cells.js"
 */

// The matrix of the open head over characters or words, or of one text of a pair to the other. Of a group's tokens keys
// are summed and queries averaged, as its axes say.

/** The words of a part: "A → B". @param {Part} part */
const partName = (part) => (part === "all" ? t("pair.all") : [...part.toUpperCase()].join(" → "));

/** The average that is shown; the open head where there is none of it. @param {HeadTrace} trace @param {State} state @returns {Average} */
function averageIn({ attention, queries, keys }, state) {
  const { average } = attentionState.of(state);
  return canAverage(average, attention, queries.tokens.length, keys.tokens.length) ? average : "head";
}

/** @type {(trace: HeadTrace, average: Exclude<Average, "head">, layer: number, head: number) => Float32Array} */
const averaged = memo((trace, average, layer, head) =>
  averageOf(average, trace.tensor, trace.attention, { layer, head }),
);

/** What an average is called: "mean over the heads of layer 3". @param {Average} average @param {{layer: number, head: number}} open */
const averageName = (average, { layer, head }) => t(`average.${average}`, { layer, head });

/** @param {{unit: string, part: Part}} units @param {Average} average @param {State} state */
function wordsOf({ unit, part }, average, state) {
  const weights = unit === "tokens" ? t("matrix.weights") : t(`groups.title_${unit}`);
  const title = average === "head" ? weights : `${weights}, ${averageName(average, state)}`;
  const of = average === "head" ? [] : [average.replace("_", "-")];
  return {
    id: ["weights", ...of, ...(part === "all" ? [] : [part]), ...(unit === "tokens" ? [] : [unit])].join("-"),
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
  const average = averageIn(trace, state);
  const own = average === "head" ? trace.detail.overview.data : averaged(trace, average, state.layer, state.head);
  const { values, shape, forbidden } = units.cells(own);
  const [rows, cols] = [units.rows.labels, units.cols.labels];
  const size = (/** @type {{groups: Group[]}} */ { groups }, /** @type {number} */ i) =>
    groups[i].end - groups[i].start;
  const at = (/** @type {number} */ row, /** @type {number} */ col) => row * shape[1] + col;
  const words = (/** @type {number} */ row, /** @type {number} */ col) => {
    if (forbidden?.[at(row, col)]) return t("matrix.forbidden", { reason: reasonOf(forbidden[at(row, col)]) });
    const value = significant(values[at(row, col)]);
    if (average !== "head") return t("average.cell", { what: averageName(average, state), value });
    if (units.unit === "tokens") return t("matrix.weight", { value });
    return t("groups.weight", { value, keys: size(units.cols, col), queries: size(units.rows, row) });
  };
  const said = wordsOf(units, average, state);
  drawMatrix(root, {
    id: said.id,
    title: said.title,
    label: t(labelIn(units.unit, average), {
      what: said.title,
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
    hover: (row, col) => [t("matrix.attends", { query: rows[row], key: cols[col] }), words(row, col)],
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

/** @param {string} unit @param {Average} average */
const labelIn = (unit, average) =>
  average !== "head" ? "average.label" : unit === "tokens" ? "pair.matrix" : "groups.label";

/** How the weights are drawn: as a matrix or as lines, over tokens, characters or words. */
const FORMS = /** @type {const} */ (["matrix", "lines"]);
const PARTS = /** @type {const} */ (["all", "aa", "ab", "ba", "bb"]);

export function buildForms() {
  const forms = segment(t("lines.choose"), FORMS, "lines", (name) => t(`lines.${name}`));
  const units = segment(t("groups.choose"), UNITS, "groups", (name) => t(`groups.${name}`));
  const pairs = segment(t("pair.choose"), PARTS, "part", partName);
  const average = /** @type {HTMLSelectElement} */ (
    h("select", { "aria-label": t("average.choose"), title: t("average.choose"), dataset: { testid: "average" } })
  );
  const heads = h("div", { class: "line-choice" });
  const note = h("p", { class: "dim", dataset: { testid: "groups-note" } });
  const options = h("div", { class: "forms" }, h("div", { class: "forms-row" }, heads), note);
  const places = { grouped: h("div", null), lines: h("div", null) };
  return { forms, units, pairs, average, heads, note, options, places };
}

/** What an average is not. @param {Average} average */
const averageNote = (average) =>
  t(
    average === "rollout"
      ? "average.note_rollout"
      : average.startsWith("max")
        ? "average.note_max"
        : "average.note_mean",
  );

/**
 * The choice beside the form: the open head, or several as one. Returns what is shown.
 * @param {HTMLSelectElement} select @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {boolean} away
 * @returns {Average}
 */
function drawAverages(select, trace, state, actions, away) {
  const { attention, queries, keys } = trace;
  const isHere = (/** @type {Average} */ one) =>
    averageNeeds(one, attention, state.layer).every((need) => trace.lacks(need) === null);
  const offered = AVERAGES.filter(
    (one) => canAverage(one, attention, queries.tokens.length, keys.tokens.length) && isHere(one),
  );
  const shown = averageIn(trace, state);
  select.hidden = away || offered.length < 2;
  replaceChanged(
    select,
    offered.map((one) => h("option", { value: one, selected: one === shown }, averageName(one, state))),
  );
  select.value = shown;
  select.onchange = () => actions.set(attentionState.patch({ average: /** @type {Average} */ (select.value) }));
  return away ? "head" : shown;
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
  const average = drawAverages(parts.average, trace, state, actions, form === "lines" || state.compare);
  const isWhole = unit === "tokens" && part === "all" && average === "head";
  const [lines, grouped] = [form === "lines", form === "matrix" && !isWhole && !state.compare];
  const notes = state.compare || form === "lines" ? [] : [average !== "head" && averageNote(average)];
  const all = [...notes, unit !== "tokens" && t(`groups.note_${unit}`)].filter(Boolean);
  parts.options.hidden = !lines && (all.length === 0 || state.compare);
  parts.heads.hidden = !lines;
  parts.note.hidden = all.length === 0;
  replaceChanged(parts.note, all.join(" "));
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
  const ramp = scaleLegend(weightScale(), { number: String });
  if (details.some(({ mask }) => mask.data.some((reasons) => reasons & ~REASONS.edited))) ramp.append(hatchLegend());
  if (freedOf(trace)) ramp.append(legendItem(h("span", { class: "stair" }), t("matrix.freed")));
  ramp.append(...handLegend(trace, state));
  if (!compared && struckOf(trace, state).some(({ below }) => below))
    ramp.append(legendItem(h("s", { class: "mono" }, cellWeight(0)), t("compare.side.before"), "if-two"));
  replaceChanged(legend, lines.code?.linesLegend(trace, state) ?? ramp);
  places.both.hidden = !compared;
  places.alone.hidden = drawForms(forms, trace, state, actions) || compared;
  if (compared) both.draw(places.both, trace, state, actions);
  else if (!places.alone.hidden) morph(places.alone, () => drawOne(places.alone, trace, state, actions, pencil.pen));
}

/** A sign and its word, which no line break parts. @param {HTMLElement} sign @param {string} words @param {string} [when]  a class: where it is seen */
const legendItem = (sign, words, when = "") =>
  h("span", { class: `item ${when}`.trim() }, sign, h("span", null, words));

/** @param {HTMLElement} place @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {Pen|null} pen */
function drawOne(place, trace, state, actions, pen) {
  const { detail } = trace;
  const margin = leakMargin(trace, detail);
  const note =
    pen && !pen.ready ? { text: t("pencil.here"), ink: "--accent" } : { text: t("matrix.note_causal"), ink: "--ink-2" };
  drawWeights(place, trace, state, actions, { id: "weights", title: t("matrix.weights"), detail, margin, pen, note });
}
