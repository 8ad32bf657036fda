/** All units of an FFN at once, as a strip of pixels: a row for each token; a frame marks the units shown below. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { framedMatrix, framedSize } from "../../chart/matrix/nodes.js";
import { colourTable, paintCells } from "../../chart/matrix/sheet.js";
import { cellAfterKey, nearestCell } from "../../chart/matrix/view.js";
import { announce } from "../../chart/pictures.js";
import { columnsIn } from "../../model/matrix.js";
import { inside } from "../../model/sides.js";
import { h, newId, perRoot, replace, setText, update } from "../../ui/dom.js";
import { integer, number, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedLabel } from "../../ui/token_text.js";
import { nameOfPart } from "../parts.js";
import { labelsOf } from "../query_key.js";

/**
 * @import { Cell } from "../../chart/matrix/view.js"
 * @import { Picture } from "../../chart/pictures.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Patch } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 * @import { Shown } from "./draw.js"
 */

/** A page of units as a matrix: tokens × 64 units, with every number readable. */
const [WIDE, NARROW] = [64, 32];

/** How many units a page has room for. @param {number} width */
export const unitsPerPage = (width) => (width > 0 && width < 480 ? NARROW : WIDE);

const pagePartsOf = perRoot((root) => {
  const button = (/** @type {string} */ name) =>
    h("button", { type: "button", class: "btn", dataset: { testid: `ffn-${name}` } }, t(`ffn.${name}`));
  const [earlier, later, where] = [
    button("earlier"),
    button("later"),
    h("span", { class: "dim", "aria-live": "polite" }),
  ];
  replace(root, where, earlier, later);
  return { earlier, later, where };
});

/** @param {Part} place @param {ModelTrace} trace @param {Shown} shown @param {(patch: Patch) => void} choose */
export function drawPage(place, trace, shown, choose) {
  const { order, first, size, n, at } = shown;
  const units = order.slice(first, first + size);
  drawPages(pagePartsOf(place.tools), shown, units, choose);
  nameOfPart(place, phrase("ffn.page_title", { shown: h("span", { class: "mono" }, shown.shown) }), null);
  const values = columnsIn(shown.matrix, units);
  const tokens = labelsOf(trace.queries.tokens);
  const [of, col] = [n, at - first];
  drawMatrix(place.place, {
    id: `ffn-${shown.shown}`,
    title: shown.ffn[shown.shown],
    label: t("ffn.page_label", {
      path: shown.ffn[shown.shown],
      tokens: t("sentence.tokens", { n: tokens.length }),
      units: units.length,
      n: of,
    }),
    values: values.data,
    shape: [tokens.length, units.length],
    forbidden: null,
    rows: { labels: tokens, title: t("ffn.token_rows"), role: "q", faded: (row) => !inside(trace.queries.real, row) },
    cols: { labels: units.map(String), title: t(`ffn.unit_axis_${shown.sort}`), role: "" },
    scale: shown.scale,
    cellText: (value) => number(value, 1),
    hover: (row, i) => [t("ffn.unit_on", { unit: units[i], token: tokens[row] }), pageUnitWords(shown, row, units[i])],
    describe: (row, i) => describe(shown, row, units[i], tokens),
    chosen: { row: shown.query, col, span: "row", role: "q" },
    onChoose: (row, i) => choose({ query: row, ffnUnit: units[i] }),
    filename: `chumoku-${shown.ffn[shown.shown]}`,
  });
}

/**
 * Chooses the same place on another page, because one choice drives map, page and inspector.
 * @param {ReturnType<typeof pagePartsOf>} parts @param {Shown} shown @param {number[]} units @param {(patch: Patch) => void} choose
 */
function drawPages({ earlier, later, where }, { order, at, first, size, n }, units, choose) {
  const [lowest, highest] = [Math.min(...units), Math.max(...units)];
  const sorted = units.every((unit, i) => unit === lowest + i);
  replace(
    where,
    sorted
      ? t("ffn.units_of", { first: lowest, last: highest, n: integer(n) })
      : t("ffn.places_of", { first, last: first + units.length - 1, n: integer(n) }),
  );
  update(earlier, { disabled: first === 0 });
  update(later, { disabled: first + size >= n });
  earlier.onclick = () => choose({ ffnUnit: order[at - size] });
  later.onclick = () => choose({ ffnUnit: order[Math.min(at + size, n - 1)] });
}

/**
 * The value of a unit on a token, before and after the activation.
 * @param {Shown} shown @param {number} row @param {number} unit
 */
function pageUnitWords({ pre, post }, row, unit) {
  const [before, after] = [pre, post].map(({ data, shape }) => significant(data[row * shape[1] + unit]));
  return t("ffn.cell", { pre: before, post: after });
}

/** @param {Shown} shown @param {number} row @param {number} unit @param {string[]} tokens */
function describe(shown, row, unit, tokens) {
  return phrase("ffn.readout", {
    unit: h("b", { class: "mono" }, unit),
    token: namedLabel(tokens[row], "q", row),
    words: h("b", { class: "mono" }, pageUnitWords(shown, row, unit)),
  });
}

/** The height of a token's row in pixels, and the largest height of all rows. */
const [ROW, LEAST, MOST] = [9, 48, 220];

const mapPartsOf = perRoot((root) => {
  const id = newId("map");
  const canvas = h("canvas", { "aria-hidden": true, dataset: { testid: "ffn-map" } });
  const [frame, line, unit] = ["frame", "line", "unit"].map((name) =>
    h("div", { class: `map-${name}`, "aria-hidden": true }),
  );
  const attrs = { class: "ffn-map", tabindex: 0, role: "application", "aria-describedby": id };
  const box = h("div", attrs, canvas, line, unit, frame);
  const [cell, how] = [h("b", { class: "mono", dataset: { testid: "ffn-map-cell" } }), h("span")];
  root.append(box, h("p", { class: "dim map-said", id }, cell, " · ", how));
  const parts = {
    box,
    canvas,
    frame,
    line,
    unit,
    cell,
    how,
    drawn: /** @type {Drawn|null} */ (null),
    width: 0,
    pooled: false,
  };
  listen(parts);
  new ResizeObserver(() => parts.drawn && box.clientWidth !== parts.width && paint(parts)).observe(box);
  return parts;
});

/**
 * @typedef {Shown & {tokens: string[], title: string, label: string, choose: (patch: Patch) => void}} Drawn
 * @typedef {ReturnType<typeof mapPartsOf>} Parts
 * @typedef {Parts & {drawn: Drawn}} DrawnParts
 */

/** @param {Parts} parts */
function listen(parts) {
  const { box } = parts;
  const drawn = () => /** @type {DrawnParts} */ (parts); // nobody points at it before
  const choose = (/** @type {Cell} */ { row, col }) => {
    const { choose, order } = drawn().drawn;
    choose({ query: row, ffnUnit: order[col] });
  };
  box.addEventListener("pointermove", (event) => event.pointerType !== "touch" && say(drawn(), under(drawn(), event)));
  box.addEventListener("pointerleave", () => say(drawn(), chosenIn(drawn())));
  box.addEventListener("click", (event) => choose(under(drawn(), event)));
  box.addEventListener("keydown", (event) => {
    const { order, tokens } = drawn().drawn;
    const to = cellAfterKey(event, chosenIn(drawn()), [tokens.length, order.length]);
    if (!to) return;
    event.preventDefault();
    choose(to);
  });
  announce(box, () => (parts.drawn && parts.width ? savedAs(drawn()) : null));
}

/** The chosen token's row, and the place of the chosen unit. @param {DrawnParts} parts @returns {Cell} */
const chosenIn = ({ drawn }) => ({ row: drawn.query, col: drawn.at });

/**
 * @param {Part} place @param {Shown} shown
 * @param {string[]} tokens  their labels @param {(patch: Patch) => void} choose
 */
export function drawMap(place, shown, tokens, choose) {
  const parts = mapPartsOf(place.place);
  const title = t("ffn.map_title", { n: integer(shown.n) });
  const label = t("ffn.map_label", { n: integer(shown.n) });
  parts.drawn = { ...shown, tokens, title, label, choose };
  nameOfPart(place, title, null);
  update(parts.box, { "aria-label": `${label}. ${t("ffn.map_keys")}` });
  parts.box.style.height = `${Math.max(LEAST, Math.min(MOST, tokens.length * ROW))}px`;
  paint(parts);
}

/** The width in device pixels, if there are fewer of them than units. @param {Parts} parts */
function paint(parts) {
  const { box, canvas, drawn } = parts;
  if (box.clientWidth === 0 || !drawn) return;
  parts.width = box.clientWidth;
  const room = /** @type {[number, number]} */ ([box.clientHeight, parts.width].map((side) => side * devicePixelRatio));
  parts.pooled = paintCells(canvas, cellsOf(drawn), colourTable(drawn.scale), { room });
  const shown = { ...parts, drawn };
  placeMarks(shown);
  say(shown, chosenIn(shown));
  setText(parts.how, t(parts.pooled ? "ffn.map_pooled" : "ffn.map_rest"));
}

/** The numbers, unit by unit in their order. @param {Drawn} drawn */
function cellsOf({ matrix, order }) {
  const { data, shape } = columnsIn(matrix, order);
  return { values: data, shape: /** @type {[number, number]} */ ([shape[0], shape[1]]) };
}

/** Marks the page below, the chosen unit in it, and the chosen token's row. @param {DrawnParts} parts */
function placeMarks({ frame, line, unit, drawn }) {
  const { n, first, size, at, query, tokens } = drawn;
  const share = (/** @type {number} */ part, /** @type {number} */ whole) => `${(100 * part) / whole}%`;
  update(frame, { style: { left: share(first, n), width: share(Math.min(size, n - first), n) } });
  update(unit, { style: { left: share(at + 0.5, n) } });
  update(line, { style: { top: share(query, tokens.length), height: share(1, tokens.length) } });
}

/** Where the cells lie, from the corner of the map. @param {DrawnParts} parts */
function placeOf({ box, drawn }) {
  const [rows, cols] = drawn.matrix.shape;
  const [w, h] = [box.clientWidth, box.clientHeight];
  return {
    box: { x: 0, y: 0, w, h },
    cell: { w: w / cols, h: h / rows },
    view: { row: 0, col: 0, rows, cols },
    dpr: devicePixelRatio,
  };
}

/**
 * The cell under the pointer: the first of those that share its pixel.
 * @param {DrawnParts} parts @param {MouseEvent} event
 */
function under(parts, { clientX, clientY }) {
  const { left, top } = parts.box.getBoundingClientRect();
  return nearestCell({ x: clientX - left, y: clientY - top }, placeOf(parts));
}

/**
 * One cell in words. What is chosen is read aloud by the matrix below, so this is not.
 * @param {DrawnParts} parts @param {Cell} at
 */
function say({ cell, drawn }, at) {
  setText(cell, unitWords(drawn, at));
}

/** @param {Drawn} drawn @param {Cell} cell */
function unitWords({ matrix, order, n }, { row, col }) {
  return t("ffn.map_cell", { unit: order[col], row, value: significant(matrix.data[row * n + order[col]]) });
}

/** The map as the export menu takes it. @param {DrawnParts} parts @returns {Picture} */
function savedAs(parts) {
  const { drawn, box } = parts;
  const { title, label, scale, shown, order, tokens, query, at, first, size, n } = drawn;
  const own = {
    ...{ id: `ffn-all-${shown}`, title, label, scale, ...cellsOf(drawn), band: [first, Math.min(first + size, n)] },
    chosen: { row: query, col: at, span: /** @type {const} */ ("row"), role: /** @type {const} */ ("q") },
    hover: (/** @type {number} */ row, /** @type {number} */ col) => [tokens[row], unitWords(drawn, { row, col })],
  };
  const content = framedMatrix(/** @type {any} */ (own), { rows: tokens, cols: order.map(String) });
  return { kind: "matrix", content, size: framedSize(placeOf(parts)), plot: box };
}
