/** All units of an FFN at once, a row for each token, or another of its steps; and a page of units with their numbers. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { framedMatrix, framedSize } from "../../chart/matrix/nodes.js";
import { colourTable, paintCells } from "../../chart/matrix/sheet.js";
import { cellAfterKey, nearestCell } from "../../chart/matrix/view.js";
import { announce } from "../../chart/pictures.js";
import { activationOf } from "../../model/activations.js";
import { labelsOf, namesIn } from "../../model/labels.js";
import { columnsIn } from "../../model/matrix.js";
import { inside } from "../../model/sides.js";
import { h, newId, perRoot, replace, replaceChanged, setText, update } from "../../ui/dom.js";
import { integer, number, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { boxedText, namedLabel, nameNodes } from "../../ui/token_text.js";
import { nameOfPart } from "../parts.js";
import { sharedBy } from "./data.js";

/**
 * @import { Cell } from "../../chart/matrix/view.js"
 * @import { Picture } from "../../chart/pictures.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Token } from "../../model/labels.js"
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
  const [labels, tokens] = [labelsOf(trace.queries.tokens), namesIn(trace.queries.tokens)];
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
    rows: {
      ...{ labels, names: tokens, title: t("ffn.token_rows"), role: "q" },
      faded: (row) => !inside(trace.queries.real, row),
    },
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
function pageUnitWords({ pre, post, before: was, shown }, row, unit) {
  const at = (/** @type {{data: ArrayLike<number>, shape: number[]}} */ { data, shape }) =>
    significant(data[row * shape[1] + unit]);
  if (was) return t("ffn.cell_changed", { before: at(was), after: at(shown === "pre" ? pre : post) });
  const [before, after] = [pre, post].map(({ data, shape }) => significant(data[row * shape[1] + unit]));
  return t("ffn.cell", { pre: before, post: after });
}

/** @param {Shown} shown @param {number} row @param {number} unit @param {string[]} tokens */
function describe(shown, row, unit, tokens) {
  return phrase("ffn.readout", {
    unit: h("b", { class: "mono" }, unit),
    token: namedLabel(tokens[row], "q"),
    words: h("b", { class: "mono" }, pageUnitWords(shown, row, unit)),
  });
}

/** The least width of a column in pixels; several numbers share one where there is no room for each. */
const COLUMN = 5;

const mapPartsOf = perRoot((root) => {
  const id = newId("map");
  const canvas = h("canvas", { "aria-hidden": true, dataset: { testid: "ffn-map" } });
  const [frame, line, unit] = ["frame", "line", "unit"].map((name) =>
    h("div", { class: `map-${name}`, "aria-hidden": true }),
  );
  const attrs = { class: "ffn-map", tabindex: 0, role: "application", "aria-describedby": id };
  const box = h("div", attrs, canvas, line, unit, frame);
  const rows = h("div", { class: "map-rows", "aria-hidden": true });
  const how = h("p", { class: "dim map-said", id });
  const cell = h("p", { class: "map-cell mono", dataset: { testid: "ffn-map-cell" } });
  const picture = h("div", { class: "map-with-rows", dataset: { testid: "ffn-picture" } }, rows, box);
  root.append(how, picture, cell);
  const parts = {
    box,
    picture,
    canvas,
    rows,
    frame,
    line,
    unit,
    cell,
    how,
    drawn: /** @type {Drawn|null} */ (null),
    width: 0,
    shared: 1,
  };
  listen(parts);
  new ResizeObserver(() => parts.drawn && box.clientWidth !== parts.width && paint(parts)).observe(box);
  return parts;
});

/**
 * @typedef {{choose: (patch: Patch) => void, chooseRow: (query: number) => void}} Choice
 * @typedef {Shown & Choice & {ofUnits: boolean, tokens: Token[], names: string[], title: string, label: string}} Drawn
 * @typedef {ReturnType<typeof mapPartsOf>} Parts
 * @typedef {Parts & {drawn: Drawn}} DrawnParts
 */

/** @param {Parts} parts */
function listen(parts) {
  const { box } = parts;
  const drawn = () => /** @type {DrawnParts} */ (parts); // nobody points at it before
  const choose = (/** @type {Cell} */ { row, col }) => {
    const { choose, chooseRow, order, ofUnits } = drawn().drawn;
    if (ofUnits) choose({ query: row, ffnUnit: order[col] });
    else chooseRow(row);
  };
  box.addEventListener("pointermove", (event) => event.pointerType !== "touch" && say(drawn(), under(drawn(), event)));
  box.addEventListener("pointerleave", () => say(drawn(), chosenIn(drawn())));
  box.addEventListener("click", (event) => choose(under(drawn(), event)));
  parts.rows.addEventListener("click", ({ target }) => {
    const { row } =
      /** @type {HTMLElement|null} */ (/** @type {Element} */ (target).closest("[data-row]"))?.dataset ?? {};
    if (row !== undefined) drawn().drawn.chooseRow(Number(row));
  });
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
const chosenIn = ({ drawn }) => ({ row: drawn.query, col: drawn.ofUnits ? drawn.at : 0 });

/**
 * @param {HTMLElement} root @param {Shown & {ofUnits: boolean}} shown @param {Token[]} tokens @param {Choice} choice
 */
export function drawMap(root, shown, tokens, choice) {
  const parts = mapPartsOf(root);
  const { ofUnits, step, d } = shown;
  const title = ofUnits ? t("ffn.map_title", { n: integer(shown.n) }) : step.tap;
  const label = ofUnits ? t("ffn.map_label", { n: integer(shown.n) }) : t("ffn.stream_label", { path: step.tap, d });
  parts.drawn = { ...shown, ...choice, tokens, names: namesIn(tokens), title, label };
  update(parts.box, { "aria-label": `${label}. ${t("ffn.map_keys")}` });
  parts.picture.style.setProperty("--rows", String(tokens.length));
  paint(parts);
}

/** The height of a name in pixels. */
const NAME = 14.5;

/** The names of the rows; where they are too low for all of them, the chosen one and some others. @param {DrawnParts} parts */
function drawRows({ rows, box, drawn: { names, query } }) {
  const each = Math.ceil((NAME * names.length) / box.clientHeight);
  const named = (/** @type {number} */ row) => row === query || (row % each === 0 && Math.abs(row - query) >= each);
  const spans = names.map((name, row) =>
    h(
      "span",
      { class: row === query ? "q" : null, dataset: { row } },
      h("span", null, named(row) ? nameNodes(name) : ""),
    ),
  );
  replace(rows, spans);
}

/** Where there are fewer pixels than columns, each shows the number furthest from 0. @param {Parts} parts */
function paint(parts) {
  const { box, canvas, drawn } = parts;
  if (box.clientWidth === 0 || !drawn) return;
  parts.width = box.clientWidth;
  parts.shared = sharedBy(drawn.n, parts.width / COLUMN);
  const room = /** @type {[number, number]} */ ([
    box.clientHeight * devicePixelRatio,
    Math.ceil(drawn.n / parts.shared),
  ]);
  paintCells(canvas, cellsOf(drawn), colourTable(drawn.scale), { room });
  const shown = { ...parts, drawn };
  drawRows(shown);
  placeMarks(shown);
  say(shown, chosenIn(shown));
  setText(parts.how, howOf(shown));
}

/** What a row and a column are, and what an empty cell says. @param {DrawnParts} parts */
function howOf({ drawn: { ofUnits, n, d, step, ffn, shown }, shared }) {
  const what = ofUnits ? t("ffn.map_of", { n: integer(n) }) : t(`ffn.stream_of_${step.name}`, { d: integer(d) });
  const column = shared > 1 ? t("ffn.map_shared", { n: shared }) : "";
  const silent = ofUnits && shown === "post" && activationOf(ffn.activation).silences ? t("ffn.map_silent") : "";
  return [what, column, silent].filter(Boolean).join(" ");
}

/** The numbers, unit by unit in their order. @param {Drawn} drawn */
function cellsOf({ matrix, order }) {
  const { data, shape } = columnsIn(matrix, order);
  return { values: data, shape: /** @type {[number, number]} */ ([shape[0], shape[1]]) };
}

/** Marks the page below, the chosen unit in it, and the chosen token's row. @param {DrawnParts} parts */
function placeMarks({ frame, line, unit, drawn }) {
  const { n, first, size, at, query, tokens, ofUnits, picked } = drawn;
  frame.hidden = !ofUnits;
  unit.hidden = !ofUnits || !picked;
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
 * The cell under the pointer; of several that share a column, the one that is seen.
 * @param {DrawnParts} parts @param {MouseEvent} event
 */
function under(parts, { clientX, clientY }) {
  const { left, top } = parts.box.getBoundingClientRect();
  const { row, col } = nearestCell({ x: clientX - left, y: clientY - top }, placeOf(parts));
  const { matrix, order, n } = parts.drawn;
  const size = (/** @type {number} */ one) => Math.abs(matrix.data[row * n + order[one]]);
  const begin = col - (col % parts.shared);
  let best = begin;
  for (let one = begin + 1; one < Math.min(n, begin + parts.shared); one++) if (size(one) > size(best)) best = one;
  return { row, col: best };
}

/**
 * One cell in words. What is chosen is read aloud by the matrix below, so this is not.
 * @param {DrawnParts} parts @param {Cell} at
 */
function say({ cell, drawn }, at) {
  replaceChanged(cell, boxedText(unitWords(drawn, at)));
}

/** @param {Drawn} drawn @param {Cell} cell */
function unitWords({ matrix, order, n, ofUnits, names }, { row, col }) {
  const value = significant(matrix.data[row * n + order[col]]);
  return t(ofUnits ? "ffn.map_cell" : "ffn.stream_cell", { unit: order[col], token: names[row], value });
}

/** The map as the export menu takes it. @param {DrawnParts} parts @returns {Picture} */
function savedAs(parts) {
  const { drawn, box } = parts;
  const { title, label, scale, step, order, query, at, first, size, n, ofUnits } = drawn;
  const tokens = labelsOf(drawn.tokens);
  const band = ofUnits ? { band: [first, Math.min(first + size, n)] } : {};
  const own = {
    ...{ id: `ffn-all-${step.name}`, title, label, scale, ...cellsOf(drawn), ...band },
    chosen: { row: query, col: at, span: /** @type {const} */ ("row"), role: /** @type {const} */ ("q") },
    hover: (/** @type {number} */ row, /** @type {number} */ col) => [tokens[row], unitWords(drawn, { row, col })],
  };
  const content = framedMatrix(/** @type {any} */ (own), { rows: tokens, cols: order.map(String) });
  return { kind: "matrix", content, size: framedSize(placeOf(parts)), plot: box };
}
