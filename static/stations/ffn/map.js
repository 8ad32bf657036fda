/** All units of an FFN at once, as a strip of pixels: a row for each token; a frame marks the units shown below. */

import { framedMatrix, framedSize } from "../../chart/matrix/nodes.js";
import { colourTable, paintCells } from "../../chart/matrix/sheet.js";
import { cellAfterKey, nearestCell } from "../../chart/matrix/view.js";
import { announce } from "../../chart/pictures.js";
import { columnsIn } from "../../model/matrix.js";
import { h, newId, perRoot, setText, update } from "../../ui/dom.js";
import { integer, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { nameOfPart } from "../activation_parts.js";

/**
 * @import { Cell } from "../../chart/matrix/view.js"
 * @import { Picture } from "../../chart/pictures.js"
 */

/** The height of a token's row in pixels, and the largest height of all rows. */
const [ROW, LEAST, MOST] = [9, 48, 220];

const partsOf = perRoot((root) => {
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
    drawn: /** @type {any} */ (null),
    width: 0,
    pooled: false,
  };
  listen(parts);
  new ResizeObserver(() => parts.drawn && box.clientWidth !== parts.width && paint(parts)).observe(box);
  return parts;
});

function listen(parts) {
  const { box } = parts;
  const choose = ({ row, col }) => parts.drawn.choose({ query: row, ffnUnit: parts.drawn.order[col] });
  box.addEventListener("pointermove", (event) => event.pointerType !== "touch" && say(parts, under(parts, event)));
  box.addEventListener("pointerleave", () => say(parts, chosenIn(parts)));
  box.addEventListener("click", (event) => choose(under(parts, event)));
  box.addEventListener("keydown", (event) => {
    const to = cellAfterKey(event, chosenIn(parts), parts.drawn.matrix.shape);
    if (!to) return;
    event.preventDefault();
    choose(to);
  });
  announce(box, () => (parts.drawn && parts.width ? savedAs(parts) : null));
}

/** The chosen token's row, and the place of the chosen unit. @returns {Cell} */
const chosenIn = ({ drawn }) => ({ row: drawn.query, col: drawn.at });

/**
 * @param {ReturnType<typeof import("../activation_parts.js").part>} place @param {any} shown
 * @param {string[]} tokens  their labels @param {(patch: object) => void} choose
 */
export function drawMap(place, shown, tokens, choose) {
  const parts = partsOf(place.place);
  const title = t("ffn.map_title", { n: integer(shown.n) });
  const label = t("ffn.map_label", { n: integer(shown.n) });
  parts.drawn = { ...shown, tokens, title, label, choose };
  nameOfPart(place, title, null);
  update(parts.box, { "aria-label": `${label}. ${t("ffn.map_keys")}` });
  parts.box.style.height = `${Math.max(LEAST, Math.min(MOST, tokens.length * ROW))}px`;
  paint(parts);
}

/** The width in device pixels, if there are fewer of them than units. */
function paint(parts) {
  const { box, canvas, drawn } = parts;
  if (box.clientWidth === 0) return;
  parts.width = box.clientWidth;
  const room = /** @type {[number, number]} */ ([box.clientHeight, parts.width].map((side) => side * devicePixelRatio));
  parts.pooled = paintCells(canvas, cellsOf(drawn), colourTable(drawn.scale), { room });
  placeMarks(parts);
  say(parts, chosenIn(parts));
  setText(parts.how, t(parts.pooled ? "ffn.map_pooled" : "ffn.map_rest"));
}

/** The numbers, unit by unit in their order. */
function cellsOf({ matrix, order }) {
  const { data, shape } = columnsIn(matrix, order);
  return { values: data, shape: /** @type {[number, number]} */ ([shape[0], shape[1]]) };
}

/** Marks the page below, the chosen unit in it, and the chosen token's row. */
function placeMarks({ frame, line, unit, drawn }) {
  const { n, first, size, at, query, tokens } = drawn;
  const share = (part, whole) => `${(100 * part) / whole}%`;
  update(frame, { style: { left: share(first, n), width: share(Math.min(size, n - first), n) } });
  update(unit, { style: { left: share(at + 0.5, n) } });
  update(line, { style: { top: share(query, tokens.length), height: share(1, tokens.length) } });
}

/** Where the cells lie, from the corner of the map. */
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

/** The cell under the pointer: the first of those that share its pixel. */
function under(parts, { clientX, clientY }) {
  const { left, top } = parts.box.getBoundingClientRect();
  return nearestCell({ x: clientX - left, y: clientY - top }, placeOf(parts));
}

/** One cell in words. What is chosen is read aloud by the matrix below, so this is not. */
function say({ cell, drawn }, at) {
  setText(cell, wordsOf(drawn, at));
}

function wordsOf({ matrix, order, n }, { row, col }) {
  return t("ffn.map_cell", { unit: order[col], row, value: significant(matrix.data[row * n + order[col]]) });
}

/** The map as the export menu takes it. @returns {Picture} */
function savedAs(parts) {
  const { drawn, box } = parts;
  const { title, label, scale, shown, order, tokens, query, at, first, size, n } = drawn;
  const own = {
    ...{ id: `ffn-all-${shown}`, title, label, scale, ...cellsOf(drawn), band: [first, Math.min(first + size, n)] },
    chosen: { row: query, col: at, span: /** @type {const} */ ("row"), role: /** @type {const} */ ("q") },
    hover: (/** @type {number} */ row, /** @type {number} */ col) => [tokens[row], wordsOf(drawn, { row, col })],
  };
  const content = framedMatrix(/** @type {any} */ (own), { rows: tokens, cols: order.map(String) });
  return { kind: "matrix", content, size: framedSize(placeOf(parts)), plot: box };
}
