/** A bar under each head of the overview: how much of its weight changed between the two runs. */

import { changesOf, isExact } from "../../model/compare/heads.js";
import { shareWords } from "../../ui/compare_words.js";
import { h } from "../../ui/dom.js";
import { headKindName, headWords } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Row } from "./heads.js"
 */

/** A row of bars, for below a row of pictures. @param {number} nHead @returns {HTMLElement} */
export function barsRow(nHead) {
  const bars = Array.from({ length: nHead }, () => h("i", { class: "moved", dataset: { testid: "moved-bar" } }));
  return h("div", { class: "moved-row", "aria-hidden": true, hidden: true }, h("small"), bars);
}

/**
 * @param {Row[]} rows  of the overview
 * @param {ModelTrace} trace @param {State} state
 */
export function drawHeadChanges(rows, trace, state) {
  const found = state.compare ? changesOf(trace) : null;
  const changes = found ?? [];
  const compared = new Set(changes.map(({ attention }) => attention));
  for (const { attention, layer, bars, cells } of rows) {
    bars.hidden = !compared.has(attention);
    if (!bars.hidden) continue;
    cells.forEach((canvas, head) => nameHead(canvas, headWords(trace.model, { attention, layer, head })));
  }
  if (!found) return;
  const exact = isExact(trace);
  const rowOf = new Map(rows.map((row) => [`${row.attention} ${row.layer}`, row]));
  for (const { attention, layer, head, moved, future, pad } of changes) {
    const row = /** @type {Row} */ (rowOf.get(`${attention} ${layer}`));
    const bar = /** @type {HTMLElement} */ (row.bars.children[head + 1]);
    bar.style.setProperty("--share", String(moved));
    Object.assign(bar.dataset, { attention, layer, head, moved });
    const shares = { moved: shareWords(moved, exact), future: shareWords(future, exact), pad: shareWords(pad, exact) };
    nameHead(
      row.cells[head],
      t("compare.head_cell", { of: headWords(trace.model, { attention, layer, head }), ...shares }),
    );
  }
}

/** A picture's name, with its head's label if it has one. @param {HTMLElement} canvas @param {string} name */
export function nameHead(canvas, name) {
  const { label } = canvas.dataset;
  const text = label ? t("labels.named", { name, label: headKindName(label) }) : name;
  canvas.dataset.name = name;
  if (canvas.title === text) return;
  canvas.title = text;
  canvas.setAttribute("aria-label", text);
}
