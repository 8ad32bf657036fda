/**
 * A matrix as a table, for readers who cannot see the picture or want its numbers: under each picture, closed. Its
 * cells are built when it is opened, one page of rows at a time.
 */

import { h, perRoot, replace, setText, update } from "../ui/dom.js";
import { significant } from "../ui/format.js";
import { t } from "../ui/i18n.js";

/**
 * @import { Axis, Matrix } from "./matrix/matrix.js"
 * @import { Cell } from "./matrix/view.js"
 */

/** Rows per page: a table of 256 × 256 would be 65,536 elements. */
const PAGE = 64;

/**
 * @typedef {Pick<Matrix, "label"|"values"|"forbidden"|"shape"|"rows"|"cols"|"tableText"> & {chosen: Cell}} Numbers  as a table
 *   shows them
 * @typedef {ReturnType<typeof tableParts>} Parts
 */

const tableParts = perRoot((root) => {
  const summary = h("summary", null, t("table.open"));
  const where = h("span", { class: "dim", "aria-live": "polite", dataset: { testid: "table-rows" } });
  const turn = (/** @type {string} */ name, /** @type {number} */ by) =>
    h("button", { class: "btn", type: "button", on: { click: () => turnPage(parts, by) } }, t(`table.${name}`));
  const pages = h("div", { class: "table-pages" }, turn("earlier", -1), turn("later", 1), where);
  const box = h("div", { class: "table-box", tabindex: 0, role: "region" });
  const details = h("details", { class: "matrix-table", dataset: { testid: "matrix-table" } }, summary, pages, box);
  const [earlier, later] = pages.querySelectorAll("button");
  const parts = {
    details,
    pages,
    where,
    box,
    earlier,
    later,
    page: 0,
    matrix: /** @type {Numbers|null} */ (null),
    built: /** @type {any[]|null} */ (null),
  };
  details.addEventListener("toggle", () => show(parts));
  root.append(details);
  return parts;
});

/** Keep the table under a picture up to date. A closed table costs nothing. @param {HTMLElement} root @param {Numbers} matrix */
export function drawNumbers(root, matrix) {
  const parts = tableParts(root);
  const moved = parts.matrix?.chosen.row !== matrix.chosen.row || parts.matrix?.shape[0] !== matrix.shape[0];
  parts.matrix = matrix;
  if (moved) parts.page = Math.floor(matrix.chosen.row / PAGE);
  show(parts);
}

/** @param {Parts} parts @param {number} by */
function turnPage(parts, by) {
  parts.page += by;
  show(parts);
  parts.box.scrollTop = 0;
}

/** An open table is built once for the same numbers; another choice only moves the mark. @param {Parts} parts */
function show(parts) {
  const { details, matrix, page } = parts;
  if (!details.open) parts.built = empty(parts);
  if (!details.open || !matrix) return;
  const made = [matrix.values, matrix.forbidden, matrix.rows.labels, matrix.cols.labels, page];
  if (!parts.built?.every((item, i) => item === made[i])) {
    parts.built = made;
    replace(parts.box, tableOf(matrix, page));
  }
  const count = matrix.shape[0];
  const [first, last] = [page * PAGE, Math.min(count, (page + 1) * PAGE) - 1];
  parts.pages.hidden = count <= PAGE;
  update(parts.earlier, { disabled: page === 0 });
  update(parts.later, { disabled: last === count - 1 });
  setText(parts.where, t("table.rows", { first, last, n: count }));
  update(parts.box, { "aria-label": matrix.label });
  mark(parts.box, matrix.chosen);
}

/** @param {Parts} parts */
function empty({ box }) {
  replace(box);
  return null;
}

/** @param {Numbers} matrix @param {number} page */
function tableOf(matrix, page) {
  const { rows, cols, label, shape } = matrix;
  const indices = Array.from({ length: shape[0] }, (_, row) => row).slice(page * PAGE, (page + 1) * PAGE);
  const corner = h("td", null, `${rows.title} ╲ ${cols.title}`);
  return h(
    "table",
    null,
    h("caption", null, label),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        corner,
        cols.labels.map((text, col) => header("col", cols, text, col)),
      ),
    ),
    h(
      "tbody",
      null,
      indices.map((row) =>
        h("tr", { dataset: { row } }, header("row", rows, rows.labels[row], row), cellsOf(matrix, row)),
      ),
    ),
  );
}

/** A token and its index; a dimension is its index. @param {string} scope @param {Axis} axis @param {string} text @param {number} index */
function header(scope, { role }, text, index) {
  return h("th", { scope, class: role }, text, text !== String(index) && h("small", { class: "dim" }, ` ${index}`));
}

/** @param {Numbers} matrix @param {number} row */
function cellsOf(matrix, row) {
  const n = matrix.shape[1];
  return Array.from({ length: n }, (_, col) => {
    const forbidden = matrix.forbidden?.[row * n + col];
    const text = matrix.tableText?.(row, col) ?? significant(matrix.values[row * n + col]);
    return h("td", { class: forbidden ? "forbidden" : null, dataset: { col } }, text);
  });
}

/** The chosen cell. @param {HTMLDivElement} box @param {Cell} cell */
function mark(box, { row, col }) {
  for (const old of box.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
  box.querySelector(`[data-row="${row}"] > [data-col="${col}"]`)?.setAttribute("aria-current", "true");
}
