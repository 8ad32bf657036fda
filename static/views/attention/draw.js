/** Attention, step by step: A = softmax(QKᵀ/√d_k + M), the weights of the open head. */

import { scaleLegend } from "../../chart/matrix/scale.js";
import { isBefore, isCompared } from "../../model/compare/runs.js";
import { namesIn } from "../../model/labels.js";
import { featureOf, position } from "../../model/selection.js";
import { REASONS } from "../../model/taps.js";
import { queryName } from "../../model/written.js";
import { h, hoverless, keepingFocus, perRoot, replace, replaceChanged, setText, update } from "../../ui/dom.js";
import { cellWeight, number } from "../../ui/format.js";
import { headChip, headTitle } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { setFormulas } from "../../ui/mathml.js";
import { differenceLegend, drawSquare, hatchLegend } from "../query_key.js";
import { buildPencil, drawPencil, underEdits } from "./pencil.js";
import { changedSquare, reasonsLegend, SQUARES } from "./squares.js";
import { drawStepper, resultOf, saysOf } from "./stepper.js";
import { openAttentionStep } from "./steps.js";
import { buildForms, drawWeightsStep } from "./weights.js";

/**
 * @import { Pen } from "../../chart/matrix/matrix.js"
 * @import { HeadTrace, Matrix, ModelTrace } from "../../data/model_trace.js"
 * @import { Attention } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Square } from "../query_key.js"
 * @import { Actions, HeadDraw } from "../view.js"
 * @import { StepName } from "./steps.js"
 */

/** The time in which the matrix of one step turns into the next: cells fade at their places. */
const MILLISECONDS = 260;

/**
 * Lets the cells that `place` shows now fade while `draw` puts others there.
 * @param {HTMLElement} place @param {() => void} draw
 */
function morphing(place, draw) {
  const before = /** @type {HTMLCanvasElement|null} */ (place.querySelector("canvas.sheet"));
  const still = before && before.clientWidth > 0 && !calm() ? copyOf(before) : null;
  draw();
  if (!still) return;
  before?.after(still);
  const fading = still.animate([{ opacity: 1 }, { opacity: 0 }], { duration: MILLISECONDS, easing: "ease-in-out" });
  fading.onfinish = fading.oncancel = () => still.remove();
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @param {HTMLCanvasElement} canvas */
function copyOf(canvas) {
  const copy = /** @type {HTMLCanvasElement} */ (canvas.cloneNode());
  copy.classList.replace("sheet", "fading");
  copy.getContext("2d")?.drawImage(canvas, 0, 0);
  return copy;
}

// The text about what a mask does in the softmax.

/** The queries that may not attend to any key. @param {Matrix} mask @returns {number[]} */
function blindRows({ data, shape: [nQuery, nKey] }) {
  const rows = Array.from({ length: nQuery }, (_, query) => query);
  return rows.filter((query) => data.subarray(query * nKey, (query + 1) * nKey).every(Boolean));
}

/** More queries than this are named by the first and the last. */
const NAMED = 3;

/** @param {number[]} rows  the queries that may not attend to any key, at least one @param {HeadTrace} trace  some models spread such a row evenly */
function nothingWords(rows, trace) {
  const { pattern } = trace.detail;
  const spread = pattern && pattern.data[rows[0] * pattern.shape[1]] > 0;
  const names = rows.map((row) => queryName(trace, row));
  const said = names.length > NAMED ? `${names[0]} … ${names.at(-1)}` : names.join(t("compare.comma"));
  return t(spread ? "masks.spread" : "masks.nothing", { n: rows.length, rows: said });
}

/** Which feature of the open group is shown, where each feature has separate weights. */
function buildFeatureChoice() {
  const input = /** @type {HTMLInputElement} */ (
    h("input", { type: "number", min: 0, class: "feature-number", dataset: { testid: "feature" } })
  );
  const element = h("label", { class: "feature-choice", hidden: true }, t("feature.choose"), " ", input);
  return { element, input };
}

/**
 * @param {ReturnType<typeof buildFeatureChoice>} parts @param {string} step @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
function drawFeatureChoice({ element, input }, step, { attention, queries }, state, actions) {
  element.hidden = step !== "feature";
  if (element.hidden) return;
  const last = attention.d_head - 1;
  update(input, { max: last });
  if (document.activeElement !== input || input.valueAsNumber !== featureOf(state, attention))
    input.value = String(featureOf(state, attention));
  input.oninput = () => {
    const asked = input.valueAsNumber;
    if (Number.isInteger(asked) && asked >= 0 && asked <= last)
      actions.set({ cell: [state.query ?? queries.tokens.length - 1, asked] });
  };
}

/** What a step hides keeps its space, so that the cells stay at their places: see css/matrix.css. */
const elementsOf = perRoot((root) => {
  const title = h("h1", { dataset: { testid: "opened-title" } });
  const [stepper, legend] = [h("div", { class: "stepper" }), h("span", null)];
  const formula = h("div", { class: "formula" });
  const says = h("p", { class: "says dim", "aria-live": "polite", dataset: { testid: "attention-says" } });
  const note = h("p", { class: "station-note dim", dataset: { testid: "blind" } });
  const foot = h("div", { class: "legend-place" }, legend, note);
  const [forms, feature] = [buildForms(), buildFeatureChoice()];
  const pencil = buildPencil(root);
  const places = { alone: h("div", null), both: h("div", null), ...forms.places };
  const tools = h("div", { class: "tools" }, forms.average, forms.pairs.box, forms.forms.box, forms.units.box);
  root.append(
    h("div", { class: "bar" }, title, headChip(), h("span", { class: "grow" }), tools),
    h("div", { class: "step-strip" }, stepper, pencil.box, feature.element),
    h("div", { class: "says-row" }, formula, says),
    h("div", { class: "station-body" }, forms.options, Object.values(places), foot),
  );
  return { title, tools, stepper, legend, foot, formula, says, note, forms, feature, pencil, places, drawn: "" };
});

/** @typedef {ReturnType<typeof elementsOf>} Parts */

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const { attention, detail } = trace;
  const step = /** @type {StepName} */ (openAttentionStep(attention, state));
  root.dataset.step = step;
  setText(parts.title, headTitle(trace.model, state));
  drawStepper(parts.stepper, attention, state, actions);
  replaceChanged(parts.formula, resultOf(step, attention));
  setFormulas(parts.says, saysOf(step, attention, detail, featureOf(state, attention)));
  const blind = detail.mask && ["masked", "weights"].includes(step) ? blindRows(detail.mask) : [];
  parts.note.hidden = blind.length === 0;
  setText(parts.note, blind.length ? nothingWords(blind, trace) : "");
  parts.forms.units.box.hidden = state.compare; // a comparison has one form
  drawFeatureChoice(parts.feature, step, trace, state, actions);
  // Another step of the same cells fades in; another head or sentence is simply there.
  const morph = parts.drawn && parts.drawn !== step ? morphing : plainly;
  drawPencil(parts.pencil, trace, state, actions, () => drawPicture(parts, step, trace, state, actions, plainly));
  drawPicture(parts, step, trace, state, actions, morph);
  parts.drawn = step;
}

/** @type {typeof morphing} */
const plainly = (_, draw) => draw();

/**
 * The matrix, under the newest edits.
 * @param {Parts} parts @param {StepName} step @param {HeadTrace} trace @param {State} state @param {Actions} actions @param {typeof morphing} morph
 */
function drawPicture(parts, step, trace, state, actions, morph) {
  const shown = underEdits(parts.pencil, trace, state, actions);
  if (step === "weights") drawWeightsStep(parts, shown, state, actions, morph);
  else morph(parts.places.alone, () => drawStep(parts, step, shown, state, actions));
  seatLegend(parts, state.lesson !== null);
  const { pen } = parts.pencil;
  if (!parts.places.alone.hidden) drawRowKeys(parts.places.alone, shown, state, actions, pen?.ready ? null : pen);
}

/** The legend stands under the cells, before their table, in a lesson over them; with the pencil on, it says what that does. @param {Parts} parts @param {boolean} over */
function seatLegend({ places, tools, legend, foot, pencil: { pen } }, over) {
  const place = Object.values(places).find(({ hidden }) => !hidden);
  const matrix = place?.querySelector(":scope > .matrix");
  if (over) tools.before(foot);
  else if (!matrix) places.both.parentElement?.append(foot);
  else if (foot.parentElement !== place) (place?.querySelector(":scope > .row-keys") ?? matrix).after(foot);
  if (pen && !pen.ready && matrix)
    legend.firstElementChild?.append(h("span", { class: "unless-noted pen-hint" }, t("pencil.here")));
}

/**
 * The numbers at the ends of a legend, and the hatching where a step has it.
 * @param {string} step @param {Square} square
 */
const legendWords = (step, { tones, forbidden }) => ({
  number: tones || step === "feature" ? String : (/** @type {number} */ value) => number(value, 2),
  forbidden: step === "feature" && forbidden ? t("matrix.hatched") : null,
});

/** @param {StepName} step @param {Square} square @param {HeadTrace} trace @param {State} state */
function stepLegend(step, square, { detail, model }, state) {
  const ramp = (step !== "masked" || square.tones) && scaleLegend(square.scale, legendWords(step, square));
  const reasons = step === "masked" ? reasonsLegend(detail.mask.data) : [];
  const run = t(`compare.side.${isBefore(state) ? "before" : "after"}`);
  const one = isCompared(state, model) && h("span", null, t("compare.shows_run", { run }));
  return h("span", { class: "legend", dataset: { testid: "legend" } }, ramp && [...ramp.childNodes], reasons, one);
}

/** @param {NonNullable<ReturnType<typeof changedSquare>>} square */
function changeLegend({ same, scale, forbidden, values }) {
  const words = h("span", { class: "legend", dataset: { testid: "unchanged" } });
  words.append(h("b", null, t("compare.unchanged")), h("span", null, t("compare.pale_numbers")));
  const legend = same ? words : differenceLegend(scale);
  for (const end of same ? [] : [Infinity, -Infinity].filter((one) => values.includes(one)))
    legend.append(h("span", { class: "item" }, t(end > 0 ? "compare.allowed_now" : "compare.hidden_now")));
  if (forbidden) legend.append(hatchLegend());
  return legend;
}

/**
 * QKᵀ, the scores, or the scores under the mask.
 * @param {Parts} parts @param {StepName} step @param {HeadTrace} trace @param {State} state @param {Actions} actions
 */
function drawStep({ places, forms, legend, pencil: { pen } }, step, trace, state, actions) {
  const { detail } = trace;
  const change = changedSquare(step, trace, state);
  const square = change ?? SQUARES[step](trace, state);
  replaceChanged(legend, change ? changeLegend(change) : stepLegend(step, square, trace, state));
  forms.options.hidden = true;
  for (const place of Object.values(places)) place.hidden = place !== places.alone;
  const margin = step === "feature" ? undefined : { title: "", text: () => "" }; // the place of the weights' sums
  drawSquare(places.alone, trace, state, actions, { ...square, sums: detail.overview !== undefined, margin, pen });
}

// For a finger: the keys of the chosen row as buttons below the matrix, whose cells are too small for it.

/** More keys than this are not buttons: the matrix is zoomed then. */
const MOST = 256;

const rowOf = perRoot((place) => {
  const row = h("div", { class: "row-keys", role: "group", dataset: { testid: "row-keys" } });
  place.querySelector(".matrix")?.after(row);
  return row;
});

/**
 * @param {HTMLElement} place  with the matrix @param {HeadTrace} trace @param {State} state @param {Actions} actions
 * @param {Pen|null} pen  with one, the buttons hide keys and show them again
 */
function drawRowKeys(place, trace, state, actions, pen) {
  if (!hoverless()) return;
  const { query, key } = position(state, trace);
  const { mask, overview } = trace.detail;
  const { tokens } = trace.keys;
  const row = rowOf(place);
  const names = namesIn(tokens);
  const reasonsOf = (/** @type {number} */ j) => mask?.data[query * names.length + j] ?? 0;
  const isHidden = (/** @type {number} */ j) => reasonsOf(j) === REASONS.edited;
  const allowed = names.map((_, j) => j).filter((j) => !reasonsOf(j) || (pen && isHidden(j)));
  row.hidden = allowed.length > MOST;
  row.setAttribute("aria-label", t("attention.row_keys", { query: queryName(trace, query) }));
  keepingFocus(row, () =>
    replace(
      row,
      (row.hidden ? [] : allowed).map((j) => {
        const pressed = pen ? !isHidden(j) : j === key;
        const looks = [j === key && "chosen", isHidden(j) && "hides"].filter(Boolean).join(" ");
        const data = { focus: `key-${j}`, key: j };
        const attrs = { class: looks || null, type: "button", "aria-pressed": pressed, dataset: data };
        const weight = overview && cellWeight(overview.data[query * names.length + j]);
        return h(
          "button",
          { ...attrs, on: { click: () => (pen ? draws(pen, query, j) : actions.set({ query, key: j })) } },
          h(pen && isHidden(j) ? "s" : "b", { translate: "no" }, names[j]),
          h("span", { class: "mono" }, weight ?? ""),
        );
      }),
    ),
  );
  const keys = /** @type {HTMLElement[]} */ ([...row.querySelectorAll("button")]);
  const chosen = keys.find(({ dataset }) => Number(dataset.key) === key);
  const at = `${trace.key} ${query} ${key}`;
  if (!chosen || row.clientWidth === 0 || row.dataset.at === at) return; // who has scrolled it finds it so
  row.dataset.at = at;
  const middle = chosen.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
  const first = keys.find(({ offsetLeft, offsetWidth }) => offsetLeft >= middle - offsetWidth / 2) ?? chosen; // at the edge a whole one
  row.scrollLeft = middle > 0 ? first.offsetLeft - 2 : 0;
}

/** @param {Pen} pen @param {number} row @param {number} col */
function draws(pen, row, col) {
  pen.over({ row, col });
  pen.end();
}
