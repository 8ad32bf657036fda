/** All heads at a glance: layers × heads, one canvas each, a pixel for every (query, key). */

import { keyOf } from "../data/traces.js";
import { h, replace } from "../lib/dom.js";
import { currentTheme, pixelTable } from "../lib/colour.js";
import { paintHead } from "../lib/head_picture.js";
import { t } from "../lib/i18n.js";
import { barsRow, drawHeadChanges } from "./head_changes.js";

/** @param {HTMLElement} root @param {import("./all.js").Context} context @returns {import("./all.js").Draw} */
export function createHeads(root, { actions }) {
  /** @type {HTMLCanvasElement[][]} */
  let grid = [];
  let drawn = "";
  const note = h("p", { class: "dim pooled", hidden: true }, t("heads.pooled"));

  const step = (event) => {
    const canvas = /** @type {HTMLElement} */ (event.target);
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move || !canvas.dataset.layer || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const layer = clamp(Number(canvas.dataset.layer) + move[0], grid.length);
    const head = clamp(Number(canvas.dataset.head) + move[1], grid[0].length);
    actions.set({ layer, head });
    grid[layer][head].focus({ preventScroll: true });
  };
  root.addEventListener("keydown", step);
  root.addEventListener("click", ({ target }) => {
    const { layer, head } = /** @type {HTMLElement} */ (target).dataset;
    if (layer !== undefined) actions.set({ layer: Number(layer), head: Number(head) });
  });

  return (trace, state) => {
    if (!trace) return;
    if (grid.length !== trace.nLayer || grid[0].length !== trace.nHead) {
      grid = build(root, trace.nLayer, trace.nHead);
      root.append(note);
      drawn = "";
    }
    const content = `${trace.key} ${currentTheme()}`;
    if (content !== drawn) note.hidden = !paintAll(grid, trace);
    drawn = content;
    drawHeadChanges(/** @type {any} */ ([...root.querySelectorAll(".moved-row")]), grid, trace, state);
    light(grid, state);
    root.classList.toggle("stale", trace.key !== keyOf(state));
  };
}

/** @param {Element} root @param {number} nLayer @param {number} nHead @returns {HTMLCanvasElement[][]} */
function build(root, nLayer, nHead) {
  const numbers = (n) => Array.from({ length: n }, (_, i) => i);
  const grid = numbers(nLayer).map((layer) => numbers(nHead).map((head) => cell(layer, head)));
  const top = numbers(nHead).map((n) => h("small", { role: "columnheader", "aria-label": t("heads.head", { n }) }, n));
  const side = (n) => h("small", { role: "rowheader", "aria-label": t("heads.layer", { n }) }, n);
  replace(
    root,
    h(
      "div",
      { class: "grid", role: "grid", "aria-label": t("heads.grid"), style: { "--heads": nHead } },
      h("div", { role: "row" }, h("small", { role: "columnheader", "aria-hidden": true }), top),
      grid.map((cells, layer) => [h("div", { role: "row" }, side(layer), cells), barsRow(nHead)]),
    ),
  );
  return grid;
}

function cell(layer, head) {
  const label = t("heads.cell", { layer, head });
  const data = { testid: "head", layer, head };
  return h("canvas", { role: "gridcell", tabindex: -1, "aria-label": label, title: label, dataset: data });
}

/**
 * @param {HTMLCanvasElement[][]} grid
 * @param {import("../data/model_trace.js").ModelTrace} trace
 * @returns {boolean} whether a picture has more cells than pixels
 */
function paintAll(grid, trace) {
  const table = pixelTable("weights");
  const shown = Math.floor(grid[0][0].clientWidth * devicePixelRatio); // asked once: it makes the browser lay out
  grid.forEach((cells, layer) =>
    cells.forEach((canvas, head) => paintHead(canvas, trace.pattern(layer, head), trace.mask(layer, head), table, shown)),
  );
  return trace.tokens.length > shown;
}

function light(grid, state) {
  grid.forEach((cells, layer) =>
    cells.forEach((canvas, head) => {
      const open = layer === state.layer && head === state.head;
      canvas.classList.toggle("on", open);
      canvas.tabIndex = open ? 0 : -1;
      canvas.setAttribute("aria-selected", String(open));
    }),
  );
}

function clamp(value, length) {
  return Math.min(length - 1, Math.max(0, value));
}
