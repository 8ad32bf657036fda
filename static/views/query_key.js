/** A query × key matrix of a head, shared by weights, scores and mask. */

import { drawMatrix } from "../chart/matrix/matrix.js";
import { colourAt, scaleLegend, weightScale } from "../chart/matrix/scale.js";
import { cssColour, inkOn } from "../chart/theme.js";
import { ABSENT } from "../model/compare/compare.js";
import { leakOfRow, openSquare } from "../model/compare/measure.js";
import { isTrained } from "../model/compare/runs.js";
import { labelsOf, namesIn } from "../model/labels.js";
import { HIDDEN_IN, openedIn, placesHidden } from "../model/mask_edits.js";
import { memo } from "../model/memo.js";
import { position } from "../model/selection.js";
import { inside } from "../model/sides.js";
import { REASONS } from "../model/taps.js";
import { rowLabels, standsForWritten, writtenNames } from "../model/written.js";
import { h } from "../ui/dom.js";
import { cellWeight, percent, signed, significant } from "../ui/format.js";
import { headLabel, headParts } from "../ui/heads.js";
import { phrase, t } from "../ui/i18n.js";

/**
 * @import { Matrix, Pen } from "../chart/matrix/matrix.js"
 * @import { Scale } from "../chart/matrix/scale.js"
 * @import { Detail, ModelTrace } from "../data/model_trace.js"
 * @import { Token } from "../model/labels.js"
 * @import { Side } from "../model/sides.js"
 * @import { State } from "../state/store.js"
 * @import { Actions } from "./view.js"
 */

/** A further reason: the shown run has no such cell (compare/align.js). @type {Object<string, number>} */
const WITH_ABSENT = { ...REASONS, absent: 16 };

/** Why a cell is forbidden, in words; "" if it is not. @param {number} reasons */
export function reasonOf(reasons) {
  return namesOf(reasons, "matrix.reason");
}

/** "causal mask": where there is little room. @param {number} reasons */
export const shortReasonOf = (reasons) => namesOf(reasons, "table.reason");

/** @param {number} reasons  a set, bit by bit @param {string} area  of the catalogue */
function namesOf(reasons, area) {
  const names = Object.keys(WITH_ABSENT).filter((name) => reasons & WITH_ABSENT[name]);
  return names.map((name) => t(`${area}.${name}`)).join(t("matrix.and"));
}

/** @param {Words} words */
const inWords = ([key, vars]) => t(key, vars);

/**
 * @typedef {[key: string, vars: Object<string, any>]} Words  a key of the catalogue, and what fills it
 * @typedef {Pick<Matrix, "id"|"values"|"scale"|"cellText"> & Partial<Matrix> & {title: string, words: (query: number, key: number) => Words,
 *   reasons?: Uint8Array|null, ofWeights?: boolean}} Square
 */

/**
 * Draws values by query and key. `own` has the rest: `words(row, col)` is the text of a cell, as a key of the catalogue
 * with its variables; `reasons` is the mask, if it explains why a cell has no number; other fields are those of
 * chart/matrix/matrix.js.
 * @param {HTMLElement} root
 * @param {ModelTrace} trace
 * @param {State} state
 * @param {Actions} actions
 * @param {Square} own
 */
export function drawSquare(root, trace, state, actions, own) {
  const { queries, keys, model, attentions } = trace;
  /** @param {"query"|"key"} name @param {Side} side */
  const axis = (name, { tokens, real, side }) => ({
    labels: name === "query" ? rowLabels(trace) : labelsOf(tokens),
    names: name === "query" && side === "target" ? bothNames(tokens) : namesIn(tokens),
    ...(name === "query" && side === "target" && { brief: queryNames(trace) }),
    title: t(attentions.length > 1 ? `matrix.${name}_axis.${side}` : `matrix.${name}_axis`),
    faded: (/** @type {number} */ index) => !inside(real, index),
  });
  const [rows, cols] = [axis("query", queries), axis("key", keys)];
  const { query, key } = position(state, trace);
  /** @type {[number, number]} */
  const shape = [rows.labels.length, cols.labels.length];
  const alone = root.closest(".in-lesson") === null; // in a lesson cells are as large as they fit
  drawMatrix(root, {
    label: t("matrix.label", { what: own.title, of: headLabel(model, state), rows: shape[0], cols: shape[1] }),
    shape,
    forbidden: null,
    rows: { ...rows, role: "q" },
    cols: { ...cols, role: "k" },
    hover: (row, col) => [
      t(attends(own, row * shape[1] + col), { query: quoted(rows.names[row]), key: quoted(cols.names[col]) }),
      inWords(own.words(row, col)),
      ...wasIn(own, row, col),
      ...(own.pen ? [t(pencilWords(own.pen, row === query && col === key, own.reasons?.[row * shape[1] + col]))] : []),
    ],
    describe: (row, col) => describeCell(rows.names[row], cols.names[col], own.words(row, col)),
    tableText: (row, col) => tableText(own, row * shape[1] + col, own.words(row, col)),
    chosen: { row: query, col: key, span: "cell", role: "q" },
    onChoose: (row, col) => actions.set({ query: row, key: col }),
    square: true,
    wide: alone,
    bare: alone,
    // Before and after have the same places, and what stands below has its place before the first edit.
    reserves: alone,
    highRow: alone && (state.against || !isTrained(state)) ? query : null,
    scrolls: alone && root.closest(".pair > :is(.before, .after)") === null, // beside each other they are seen whole
    edges: { row: queries.second ?? undefined, col: keys.second ?? undefined }, // between the texts of a pair
    filename: ["chumoku", ...headParts(model, state), own.id].join("-"),
    ...own,
  });
}

/** What a click or a drag does to a cell. @param {Pen} pen @param {boolean} chosen @param {number} [reasons]  that forbid it */
const pencilWords = ({ ready }, chosen, reasons) =>
  `pencil.${ready && !chosen ? "twice" : "click"}_${reasons ? "allow" : "hide"}`;

/** A name in a sentence without colours; punctuation has its quotes already. @param {string} name */
const quoted = (name) => (/^[“‹「⟨]/.test(name) ? name : t("matrix.quoted", { name }));

/** Of a weight, that the query attends to the key; of another number, which query and key it is about. @param {Square} own @param {number} at */
const attends = ({ ofWeights, reasons }, at) =>
  ofWeights ? (reasons?.[at] ? "matrix.cannot_attend" : "matrix.attends") : "matrix.pair";

/** What the rows of a head are called: in a cross-attention by what they write, "⇒ を買った". @param {Pick<ModelTrace, "attention"|"queries">} trace */
export const queryNames = ({ attention, queries: { tokens } }) =>
  standsForWritten(attention) ? writtenNames(tokens) : namesIn(tokens);

/** Rows of a translation with what they write, as in the river: "車 ⇒ を買った". The same array for the same tokens. */
const bothNames = memo((/** @type {Token[]} */ tokens) => {
  const written = writtenNames(tokens);
  return namesIn(tokens).map((name, row) => `${name} ${written[row]}`);
});

/** @param {string} query @param {string} key @param {Words} words */
function describeCell(query, key, [string, { value, ...vars }]) {
  const name = (/** @type {string} */ text, /** @type {string} */ role) => h("b", { class: `${role} mono` }, text);
  const parts = { query: name(query, "q"), key: name(key, "k") };
  const words = phrase(string, { ...vars, value: h("b", { class: "mono" }, value) });
  return phrase("matrix.cell", { ...parts, words: h("span", null, words) });
}

/**
 * A cell's number, or a short reason why it has none.
 * @param {Square} square @param {number} at @param {Words} words @returns {string}
 */
function tableText({ reasons, forbidden }, at, [string, vars]) {
  if (reasons?.[at])
    return [vars.value, t("table.forbidden", { reason: shortReasonOf(reasons[at]) })].filter(Boolean).join(" ");
  return forbidden?.[at] ? t(string, vars) : vars.value;
}

/**
 * The weight of each row on later tokens and on PADs, for the margin; undefined if nothing leaks.
 * @param {ModelTrace} trace
 * @param {Pick<Detail, "overview">} detail
 */
export function leakMargin(trace, detail) {
  const { tokens, real } = trace.queries;
  const square = openSquare(trace, detail);
  const leaks = tokens.map((_, query) => (inside(real, query) ? leakOfRow(square, query) : { future: 0, pad: 0 }));
  const shares = leaks.map(({ future, pad }) => future + pad);
  const [later, pads] = [leaks.some(({ future }) => future > 0), leaks.some(({ pad }) => pad > 0)];
  if (!later && !pads) return undefined;
  const what = later ? (pads ? "both" : "future") : "pad";
  return {
    title: t(`leak.margin_${what}`),
    about: t(`leak.margin_${what}_about`),
    text: (/** @type {number} */ row) => (inside(real, row) ? percent(shares[row], 0) : ""),
  };
}

/** Weights below it, written .00 to .02, are grey; on those below the other a grey number can be read. */
const [FAINT, PALE] = [0.025, 0.1];

/** What a cell showed before the edits, where rows are too low to write it. @param {Square} own @param {number} row @param {number} col */
function wasIn({ struck = [] }, row, col) {
  const found = struck.find((one) => one.row === row && one.col === col);
  return found ? [`${t("card.was")}: ${found.text}`] : [];
}

/** What stood in cells that are hidden by hand, and in those of the chosen row that show another number now, if the head was shown as trained. @param {ModelTrace} trace @param {State} state */
export function struckOf(trace, state) {
  const { detail, detailBefore: was } = trace;
  if (!detail?.mask || !was || was.layer !== detail.layer || was.head !== detail.head) return [];
  if (was.attention !== detail.attention || was.overview.data.length !== detail.overview.data.length) return [];
  const { query } = position(state, trace);
  const n = trace.keys.tokens.length;
  const scale = weightScale();
  return Array.from(detail.overview.data, (now, at) => {
    const [reasons, before] = [detail.mask.data[at], was.overview.data[at]];
    const hidden = Boolean(reasons & REASONS.edited);
    const moved = Math.floor(at / n) === query && !reasons && cellWeight(now) !== cellWeight(before);
    if (was.mask.data[at] || !(hidden || moved)) return null;
    const ink = hidden ? "--q" : now < PALE ? "--ink-2" : inkOn(colourAt(scale, now));
    return { row: Math.floor(at / n), col: at % n, text: cellWeight(before), ink, below: !hidden };
  }).filter((one) => one !== null);
}

/**
 * The cells that are allowed since the causal mask is off; null: it hid none before, or still hides some.
 * @param {ModelTrace} trace
 */
export function freedOf({ detail, detailBefore: was }) {
  if (!detail?.mask || !was?.mask || was.mask.data.length !== detail.mask.data.length) return null;
  if (detail.mask.data.some((reasons) => reasons & REASONS.causal)) return null;
  const freed = was.mask.data.map((reasons, at) => (reasons & REASONS.causal && !detail.mask.data[at] ? 1 : 0));
  return freed.some(Boolean) ? freed : null;
}

/** The cells of the open head that are allowed by hand. @param {ModelTrace} trace @param {State} state */
function openedOf({ detail, attention, attentions }, { interventions }) {
  if (!detail?.mask) return null;
  const { layer, head, mask } = detail;
  const of = { attention: attention.id, first: attentions[0].id, layer, head };
  return openedIn(mask.data, interventions, { ...of, shape: /** @type {[number, number]} */ (mask.shape) });
}

/** Of a difference: less, its colours, more. @param {Scale} scale */
export function differenceLegend(scale) {
  const ramp = scaleLegend(scale, { number: signed });
  ramp.prepend(h("b", null, t("compare.less")));
  ramp.querySelector(".ramp")?.nextElementSibling?.after(h("b", null, t("compare.more")));
  return ramp;
}

/** What hatching is, if that is not written over it. */
export const hatchLegend = () =>
  h("span", { class: "item unless-noted" }, h("span", { class: "hatch" }), h("span", null, t("matrix.hatched")));

/** Over the hatching of what is hidden by hand. */
const handTint = () => `${cssColour("--q")}40`;

/** What is hidden by hand, and where: a dot in the corner of a cell for the layer, two for all layers. @param {ModelTrace} trace @param {State} state */
export function handLegend(trace, state) {
  const found = handOf(trace, state);
  const places = [HIDDEN_IN.head, HIDDEN_IN.layer, HIDDEN_IN.all].filter((place) => found?.includes(place));
  return places.map((place, i) => {
    const where = t(`matrix.hidden_in.${place}`, { layer: state.layer });
    const look = { "background-color": handTint() };
    const swatch = h("span", { class: "swatch", dataset: { dots: place - 1 }, style: look });
    return h(
      "span",
      { class: "item" },
      swatch,
      h("span", null, i === 0 ? t("matrix.hidden_by_you", { where }) : where),
    );
  });
}

/** Where the cells of the open head are hidden by hand. @param {ModelTrace} trace @param {State} state */
function handOf({ detail, attention, attentions }, { interventions }) {
  if (!detail?.mask?.data.includes(REASONS.edited)) return null;
  const { layer, head, mask } = detail;
  const of = { attention: attention.id, first: attentions[0].id, layer, head, layers: attention.n_layer };
  return placesHidden(mask.data, interventions, { ...of, shape: /** @type {[number, number]} */ (mask.shape) });
}

/** Over the hatching of weights, by set of reasons: what is forbidden anyway has no colour. */
const handTints = () =>
  Array.from({ length: 32 }, (_, reasons) => (reasons === REASONS.edited ? handTint() : `${cssColour("--panel")}00`));

/**
 * The weights of one head; `id` distinguishes several such matrices.
 * @param {HTMLElement} root @param {ModelTrace} trace @param {State} state
 * @param {Actions} actions
 * @param {{id: string, title: string, detail: Pick<Detail, "overview"|"mask">,
 *   margin?: Matrix["margin"], pen?: Matrix["pen"], note?: {text: string, ink: string}}} which  `note`: over the hatching of the causal mask
 */
export function drawWeights(root, trace, state, actions, { id, title, detail, margin, pen, note }) {
  const { mask, overview } = detail;
  const n = trace.keys.tokens.length;
  drawSquare(root, trace, state, actions, {
    id,
    title,
    values: overview.data,
    forbidden: mask.data.some(Boolean) ? mask.data : null,
    reasons: mask.data,
    scale: weightScale(),
    cellText: cellWeight,
    faint: { below: FAINT, ink: cssColour("--ink-3") }, // so that the eye finds the others
    tints: mask.data.includes(REASONS.edited) ? handTints() : undefined,
    note: note && { ...note, reason: REASONS.causal },
    ofWeights: true,
    sums: true,
    margin,
    pen,
    struck: detail === trace.detail ? struckOf(trace, state) : [],
    opened: detail === trace.detail ? openedOf(trace, state) : null,
    dots: detail === trace.detail ? (handOf(trace, state)?.map((place) => Math.max(0, place - 1)) ?? null) : null,
    freed: detail === trace.detail ? freedOf(trace) : null,
    words(query, key) {
      const reasons = mask.data[query * n + key];
      if (reasons === ABSENT) return ["matrix.reason.absent", {}];
      if (reasons) return ["matrix.forbidden", { reason: reasonOf(reasons) }];
      return ["matrix.weight", { value: significant(overview.data[query * n + key]) }];
    },
  });
}
