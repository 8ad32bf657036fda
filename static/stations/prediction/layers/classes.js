/** A classifier through its layers: what [CLS] would predict if the model ended after each. */

import { drawBarPicture } from "../../../chart/bars/bar_picture.js";
import { cssColour } from "../../../chart/theme.js";
import { classDepths } from "../../../model/class_depths.js";
import { h, perRoot, replace, scrolling } from "../../../ui/dom.js";
import { percent } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { className } from "../../../ui/token_text.js";
import { depthLabels } from "../../depths.js";

/** @import { Cell } from "../../../model/class_depths.js" */

const partsOf = perRoot((root) => {
  const [legend, bars, table] = [h("p", { class: "legend" }), h("div", null), scrolling(t("lens.classes_label"))];
  root.append(legend, bars, table);
  return { legend, bars, table };
});

/** @param {HTMLElement} root @param {any} found  the lens @param {any} trace */
export function drawClassDepths(root, found, trace) {
  const parts = partsOf(root);
  const labels = depthLabels(found.top.length);
  const { columns, rows } = classDepths(found);
  const colours = ["--bar-pale", "--bar-solid"].map(cssColour);
  // The picture has two bars per row: with more classes, the two most likely at the end; the table has more.
  const shown = found.top
    .at(-1)[0]
    .slice(0, 2)
    .sort((a, b) => a - b);
  /** @param {number} depth @param {number} id */
  const at = (depth, id) => rows[depth][columns.indexOf(id)];
  const series = shown.map((id, i) => ({ name: className(found.classes[id]), colour: colours[i] }));
  replace(
    parts.legend,
    series.map(({ name, colour }) => [
      h("span", { class: "swatch plain", style: { background: colour } }),
      h("span", null, name),
    ]),
  );
  drawBarPicture(parts.bars, {
    label: t("lens.classes_label"),
    rows: labels.map((label, depth) => ({
      label,
      hover: shown
        .map((id) =>
          t("lens.class_bar", { depth: label, name: className(found.classes[id]), p: written(at(depth, id), 3) }),
        )
        .join(" · "),
      values: /** @type {[number, number]} */ (shown.map((id) => at(depth, id).p)),
      marked: false,
    })),
    series,
    log: false,
    onChoose: () => {},
    filename: "chumoku-lens",
  });
  replace(parts.table, tableOf(found, { columns, rows }, labels));
}

/** @param {Cell} cell @param {number} digits */
const written = ({ p, listed }, digits) => (listed ? percent(p, digits) : `≤ ${percent(p, digits)}`);

/** @param {{classes: string[], top: number[][][]}} found @param {ReturnType<typeof classDepths>} depths @param {string[]} labels */
function tableOf({ classes, top }, { columns, rows }, labels) {
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, t("lens.column_depth")),
    columns.map((id) => h("th", { scope: "col" }, className(classes[id]))),
  );
  const lines = rows.map((row, depth) => {
    const first = top[depth][0][0];
    const cells = row.map((cell) => {
      const dataset = { testid: "lens-class", depth, id: cell.id, p: cell.p };
      return h("td", { class: cell.id === first ? "leads" : null, dataset }, written(cell, 2));
    });
    return h("tr", null, h("th", { scope: "row" }, labels[depth]), cells);
  });
  return h("table", { class: "lens-top" }, h("thead", null, head), h("tbody", null, lines));
}
