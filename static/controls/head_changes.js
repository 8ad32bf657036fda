/** Under each head of the overview a bar: how much of its weight changed between the two runs that are compared. */

import { headChanges, isExact } from "../compare/heads.js";
import { h } from "../lib/dom.js";
import { t } from "../lib/i18n.js";
import { shareWords } from "./change_heads.js";

/** A row of bars, for below a row of pictures. @param {number} nHead @returns {HTMLElement} */
export function barsRow(nHead) {
  const bars = Array.from({ length: nHead }, () => h("i", { class: "moved", dataset: { testid: "moved-bar" } }));
  return h("div", { class: "moved-row", "aria-hidden": true, hidden: true }, h("small"), bars);
}

/**
 * @param {HTMLElement[]} rows  one of `barsRow` for each layer
 * @param {HTMLCanvasElement[][]} grid
 * @param {import("../data/model_trace.js").ModelTrace} trace @param {import("../state.js").State} state
 */
export function drawHeadChanges(rows, grid, trace, state) {
  const shown = state.compare && trace.change !== null;
  for (const row of rows) row.hidden = !shown;
  if (!shown) {
    grid.forEach((cells, layer) => cells.forEach((canvas, head) => name(canvas, t("heads.cell", { layer, head }))));
    return;
  }
  const exact = isExact(trace.change);
  for (const { layer, head, moved, future, pad } of headChanges(trace.change)) {
    const bar = /** @type {HTMLElement} */ (rows[layer].children[head + 1]);
    bar.style.setProperty("--share", String(moved));
    Object.assign(bar.dataset, { layer, head, moved });
    const shares = { moved: shareWords(moved, exact), future: shareWords(future, exact), pad: shareWords(pad, exact) };
    name(grid[layer][head], t("compare.head_cell", { layer, head, ...shares }));
  }
}

/** @param {HTMLElement} canvas @param {string} text */
function name(canvas, text) {
  if (canvas.title === text) return;
  canvas.title = text;
  canvas.setAttribute("aria-label", text);
}
