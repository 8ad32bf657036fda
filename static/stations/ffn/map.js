/** All units of an FFN at once, as a strip of pixels: a row for each token; a frame marks the units shown below. */

import { tableOf } from "../../chart/matrix/pixels.js";
import { nearestCell } from "../../chart/matrix/place.js";
import { paintCells } from "../../chart/matrix/sheet.js";
import { columnsIn } from "../../model/matrix.js";
import { h, perRoot, setText, update } from "../../ui/dom.js";
import { integer, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { nameOfPart } from "../activation_parts.js";

/** The height of a token's row in pixels, and the largest height of all rows. */
const [ROW, LEAST, MOST] = [9, 48, 220];

const partsOf = perRoot((root) => {
  const canvas = h("canvas", { role: "img", dataset: { testid: "ffn-map" } });
  const [frame, line, unit] = ["frame", "line", "unit"].map((name) =>
    h("div", { class: `map-${name}`, "aria-hidden": true }),
  );
  const box = h("div", { class: "ffn-map" }, canvas, line, unit, frame);
  const said = h("p", { class: "dim map-said" });
  root.append(box, said);
  const parts = {
    root,
    box,
    canvas,
    frame,
    line,
    unit,
    said,
    drawn: /** @type {any} */ (null),
    width: 0,
    pooled: false,
  };
  box.addEventListener("pointermove", (event) => point(parts, event));
  box.addEventListener("pointerleave", () => setText(said, restOf(parts)));
  box.addEventListener("click", (event) => {
    const { row, unit: id } = under(parts, event);
    parts.drawn.choose({ query: row, ffnUnit: id });
  });
  new ResizeObserver(() => parts.drawn && box.clientWidth !== parts.width && paint(parts)).observe(box);
  return parts;
});

/** @param {ReturnType<typeof import("../activation_parts.js").part>} place @param {any} shown @param {(patch: object) => void} choose */
export function drawMap(place, shown, choose) {
  const parts = partsOf(place.place);
  parts.drawn = { ...shown, choose };
  const {
    matrix: {
      shape: [rows],
    },
    n,
  } = shown;
  nameOfPart(place, t("ffn.map_title", { n: integer(n) }), null);
  update(parts.canvas, { "aria-label": t("ffn.map_label", { rows, n: integer(n) }) });
  parts.box.style.height = `${Math.max(LEAST, Math.min(MOST, rows * ROW))}px`;
  paint(parts);
}

/** The width in device pixels, if there are fewer of them than units. */
function paint(parts) {
  const { box, canvas, drawn } = parts;
  if (box.clientWidth === 0) return;
  parts.width = box.clientWidth;
  const { data, shape } = columnsIn(drawn.matrix, drawn.order);
  const room = /** @type {[number, number]} */ ([box.clientHeight, parts.width].map((side) => side * devicePixelRatio));
  parts.pooled = paintCells(canvas, { values: data, shape: [shape[0], shape[1]] }, tableOf(drawn.scale), { room });
  placeMarks(parts);
  setText(parts.said, restOf(parts));
}

/** Marks the page below, the chosen unit in it, and the chosen token's row. */
function placeMarks({ frame, line, unit, drawn }) {
  const {
    n,
    first,
    size,
    at,
    query,
    matrix: {
      shape: [rows],
    },
  } = drawn;
  const share = (part, whole) => `${(100 * part) / whole}%`;
  update(frame, { style: { left: share(first, n), width: share(Math.min(size, n - first), n) } });
  update(unit, { style: { left: share(at + 0.5, n) } });
  update(line, { style: { top: share(query, rows), height: share(1, rows) } });
}

/** The cell under the pointer: the first of those that share its pixel. */
function under({ box, drawn }, { clientX, clientY }) {
  const { left, top, width, height } = box.getBoundingClientRect();
  const [rows, cols] = drawn.matrix.shape;
  const [cell, view] = [
    { w: width / cols, h: height / rows },
    { row: 0, col: 0, rows, cols },
  ];
  const at = nearestCell(
    { x: clientX - left, y: clientY - top },
    { box: { x: 0, y: 0, w: width, h: height }, cell, view },
  );
  return { row: at.row, unit: drawn.order[at.col] };
}

function point(parts, event) {
  const { row, unit } = under(parts, event);
  const {
    shape: [, n],
    data,
  } = parts.drawn.matrix;
  setText(parts.said, t("ffn.map_cell", { unit, row, value: significant(data[row * n + unit]) }));
}

/** Whether a pixel covers several numbers. */
const restOf = ({ pooled }) => t(pooled ? "ffn.map_pooled" : "ffn.map_rest");
