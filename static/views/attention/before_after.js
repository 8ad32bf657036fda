/** One head in two runs: before, as trained; after, with the current switches; and the difference. */

import { paleScale, signedScale, weightScale } from "../../chart/matrix/scale.js";
import { cssColour } from "../../chart/theme.js";
import { ABSENT, difference, isUnchanged, laid, ROUNDING } from "../../model/compare/compare.js";
import { leakOfRow, openSquare } from "../../model/compare/measure.js";
import { compared, comparisonOf, isBefore } from "../../model/compare/runs.js";
import { isOpenHeadOff } from "../../model/edits.js";
import { layerOnly } from "../../model/interventions.js";
import { namesIn } from "../../model/labels.js";
import { indexOfMost, sum } from "../../model/matrix.js";
import { position } from "../../model/selection.js";
import { inside } from "../../model/sides.js";
import { REASONS } from "../../model/taps.js";
import { queryName } from "../../model/written.js";
import { runWords } from "../../ui/compare_words.js";
import { h, perRoot, replace, setText } from "../../ui/dom.js";
import { cellWeight, number, percent, power, signed, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { differenceLegend, drawSquare, drawWeights, hatchLegend, leakMargin } from "../query_key.js";

/**
 * @import { Detail, ModelTrace } from "../../data/model_trace.js"
 * @import { Laid } from "../../model/compare/compare.js"
 * @import { State } from "../../state/store.js"
 * @import { Square } from "../query_key.js"
 * @import { Actions } from "../view.js"
 */

// What changed for one query, in one sentence.

/**
 * @param {Laid} before  laid over `after` @param {Laid} after
 * @param {ModelTrace} trace @param {number} query
 * @returns {(Node|string)[]}
 */
function rowChange(before, after, trace, query) {
  const size = trace.keys.tokens.length;
  const token = (/** @type {number} */ key) => h("b", { class: "k mono" }, namesIn(trace.keys.tokens)[key]);
  const parts = { query: h("b", { class: "q mono" }, queryName(trace, query)) };
  if (!inside(trace.queries.real, query)) return phrase("compare.pad_row", parts);
  /** @template {Float32Array|Uint8Array} Values @param {{data: Values}} matrix */
  const row = ({ data }) => /** @type {Values} */ (data.subarray(query * size, (query + 1) * size));
  const [from, to, reasons] = [row(before.overview), row(after.overview), row(before.mask)];
  const gained = to.map((weight, key) => weight - from[key]);
  const most = Math.abs(gained[indexOfMost(gained.map(Math.abs))]);
  if (most < ROUNDING) return phrase("compare.row_same", { ...parts, gap: value(power(most)) });
  const [winner, loser] = [indexOfMost(gained), indexOfMost(gained.map((gain) => -gain))];
  const was = (/** @type {number} */ key) => value(reasons[key] ? lackOf(reasons[key]) : significant(from[key]));
  const rise = { winner: token(winner), had: was(winner), has: value(significant(to[winner])) };
  const fall = { loser: token(loser), was: was(loser), is: value(significant(to[loser])) };
  const { future, pad } = leakOfRow(openSquare(trace, after), query);
  const all = { ...parts, ...rise, ...fall, future: value(percent(future)), pad: value(percent(pad)) };
  const isFree = row(after.mask).every((reason, key) => reason === reasons[key]); // the same keys as before
  const leaks = future > 0 && pad > 0 ? "leak" : pad > 0 ? "pad" : "later";
  const kept = isFree ? "below" : "moved";
  const said = phrase(`compare.row_${future + pad === 0 ? kept : leaks}`, { ...all, leak: all.future });
  return [...said, " ", h("span", { class: "row-most" }, phrase("compare.row_most", all))];
}

/** The text for a missing weight: forbidden by a mask, or no PAD in the run. @param {number} reasons */
function lackOf(reasons) {
  return t(reasons === ABSENT ? "compare.not_there" : "matrix.forbidden_word");
}

/** @param {string} text */
function value(text) {
  return h("b", { class: "mono" }, text);
}

const elementsOf = perRoot((root) => {
  const side = (/** @type {string} */ name, /** @type {string} */ title) => {
    const [about, place] = [h("span", { class: "dim", dataset: { testid: `${name}-about` } }), h("div", null)];
    const element = h("section", { class: `side ${name}` }, h("h2", null, h("b", null, t(title)), about), place);
    return { about, place, element };
  };
  const before = side("before", "matrix.before");
  const after = side("after", "matrix.after");
  const changed = side("difference", "compare.difference");
  setText(changed.about, t("compare.difference_about"));
  const legend = h("div", { class: "legend-place" });
  const note = h("p", { class: "unchanged-note" });
  changed.place.append(note);
  const change = h("p", { class: "row-change", "aria-live": "polite", dataset: { testid: "row-change" } });
  const only = h("button", { class: "link", type: "button", dataset: { testid: "layer-only" } });
  const words = h("section", { class: "side words" }, h("div", null, change, only));
  root.append(h("div", { class: "pair" }, changed.element, words, before.element, after.element));
  return { before, after, changed, legend, note, change, only };
});

/**
 * @param {HTMLElement} root
 * @param {ModelTrace} trace  with `detail` and `comparedDetail`
 * @param {State} state
 * @param {Actions} actions
 */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const shown = /** @type {Detail} */ (trace.detail);
  const other = laid(/** @type {any} */ (trace.comparedDetail), trace, alignmentOf(trace, state));
  const [before, after] = isBefore(state) ? [shown, other] : [other, shown];
  const runs = compared(state, trace.model);
  setText(parts.before.about, runWords(runs.before, trace.model));
  setText(parts.after.about, runWords(runs.after, trace.model));
  replace(parts.change, ...rowChange(before, after, trace, position(state, trace).query));
  drawOnly(parts.only, trace, state, actions);
  /** @param {"before"|"after"} id @param {Laid} detail @param {Square["margin"]} margin */
  const draw = (id, detail, margin) => {
    const title = `${t("matrix.weights")}, ${t(`matrix.${id}`)}`;
    drawWeights(parts[id].place, trace, state, actions, { id, title, detail, margin });
  };
  draw(
    "before",
    before,
    before === trace.detail || before === trace.comparedDetail ? undefined : sumsOf(trace, before),
  );
  draw("after", after, leakMargin(trace, after));
  drawDifference(parts, trace, state, actions, { before, after });
}

/**
 * The mask off in this layer only, where it is off in all of them; and back.
 * @param {HTMLButtonElement} button @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
function drawOnly(button, { attention, model, file }, state, actions) {
  const other = file === null ? layerOnly(state, attention, model) : null;
  button.hidden = !other;
  if (!other) return;
  setText(button, t(other.only ? "matrix.this_layer_only" : "matrix.every_layer", { layer: state.layer }));
  button.onclick = () => actions.set({ ...other.patch, compare: true });
}

/**
 * The places of the open attention's tokens in the other run. Only called if both sides exist.
 * @param {ModelTrace} trace @param {State} state
 */
function alignmentOf({ attention, model }, state) {
  const { sides } = comparisonOf(state, model);
  return /** @type {any} */ ({ queries: sides[attention.queries], keys: sides[attention.keys] });
}

/**
 * Only rows of the sentence have a sum in the run before, which has no PADs.
 * @param {ModelTrace} trace @param {Laid} detail
 */
function sumsOf({ queries: { real }, keys }, { overview }) {
  const size = keys.tokens.length;
  const ofRow = (/** @type {number} */ row) => sum(overview.data.subarray(row * size, (row + 1) * size));
  return { title: "Σ", text: (/** @type {number} */ row) => (inside(real, row) ? number(ofRow(row), 3) : "") };
}

/** The least difference that may have full colour: 0.1 %. Below 10⁻⁵ there is only rounding. */
const LEAST = 0.001;
/** A smaller difference is not written: it would be 0.00. A faint one is not where there are many. */
const [UNCHANGED, FAINT] = [0.005, 0.045];

/**
 * after − before, on a scale that reaches as far to both sides of 0 as the largest difference.
 * @param {ReturnType<typeof elementsOf>} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions @param {{before: Laid, after: Laid}} runs
 */
function drawDifference(parts, trace, state, actions, { before, after }) {
  const size = trace.keys.tokens.length;
  const isReal = (/** @type {number} */ row) => inside(trace.queries.real, row);
  const { values, forbidden } = difference(before, after, trace.queries);
  const scale = signedScale(values, "signed", LEAST);
  const isEmpty = forbidden.some(Boolean);
  const same = isUnchanged(values) ? unchangedWords(trace, state, actions) : null;
  const free = same && isFree(forbidden, size); // there the words are seen first
  const pale = same && paleScale(weightScale());
  const legend = pale ? h("span", { class: "legend" }, t("compare.pale")) : differenceLegend(scale);
  if (isEmpty) legend.append(hatchLegend());
  replace(parts.legend, ...(same && !free ? [same, " "] : []), legend);
  replace(parts.note, free && same);
  parts.note.hidden = !free;
  drawSquare(parts.changed.place, trace, state, actions, {
    id: "difference",
    title: t(pale ? "compare.pale_title" : "compare.difference_title"),
    forbidden: isEmpty ? forbidden : null,
    faint: { below: pale ? Infinity : FAINT, ink: cssColour("--ink-2") },
    ...(pale
      ? { values: after.overview.data, scale: pale, cellText: cellWeight }
      : {
          ...{ values, scale },
          cellText: (value) => (Math.abs(value) < UNCHANGED ? "" : signed(value, 2).replace(/^(.)0\./, "$1.")),
        }),
    note: free ? undefined : { text: t("matrix.note_causal"), ink: "--ink-2", reason: REASONS.causal },
    sums: true,
    margin: {
      title: t("compare.moved"),
      about: t("compare.moved_about"),
      text: (row) =>
        isReal(row) && movedOf(values, row, size) >= UNCHANGED ? percent(movedOf(values, row, size), 0) : "",
    },
    words(query, key) {
      const at = query * size + key;
      if (!isReal(query)) return ["compare.nothing_beside", {}];
      if (forbidden[at]) return ["matrix.forbidden", { reason: t("compare.same_run") }];
      return ["compare.cell", { value: signed(values[at]), was: weightOf(before, at), is: weightOf(after, at) }];
    },
  });
  const matrix = parts.changed.place.querySelector(":scope > .matrix");
  if (matrix?.nextElementSibling !== parts.legend) matrix?.after(parts.legend);
}

/** A smaller picture has no room for words over it. */
const ROOMY = 8;

/** Whether the upper right of a picture is hatched: what a causal mask hides. @param {Uint8Array} forbidden @param {number} size  of a row */
const isFree = (forbidden, size) =>
  size >= ROOMY &&
  Array.from({ length: Math.floor(size / 2) }, (_, row) => row * size + size).every((end) =>
    forbidden.subarray(end - Math.floor(size / 2), end).every(Boolean),
  );

/** Why nothing changed here; of a head that is off, with the way to what changed. @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function unchangedWords(trace, state, actions) {
  const off = isOpenHeadOff(compared(state, trace.model).after, trace);
  const go = { click: () => actions.set({ view: "av" }) };
  return h(
    "span",
    { class: "unchanged", dataset: { testid: "unchanged" } },
    h("b", null, t(off ? "compare.unchanged_off" : "compare.unchanged_weights")),
    " ",
    off && h("button", { class: "link", type: "button", on: go }, t("compare.see_values")),
  );
}

/** The total variation of a row. @param {Float32Array} values @param {number} row @param {number} size */
function movedOf(values, row, size) {
  const cells = values.subarray(row * size, (row + 1) * size);
  return cells.reduce((sum, value) => sum + Math.abs(value), 0) / 2;
}

/** @param {Laid} detail @param {number} at */
function weightOf({ overview, mask }, at) {
  return mask.data[at] ? lackOf(mask.data[at]) : significant(overview.data[at]);
}
