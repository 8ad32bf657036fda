/** A classifier through its layers: what [CLS] would predict if the model ended after each. */

import { drawBarPicture } from "../../../chart/bars/bar_picture.js";
import { cssColour } from "../../../chart/colour.js";
import { className } from "../../../ui/class_name.js";
import { h, perRoot, replace } from "../../../ui/dom.js";
import { percent } from "../../../ui/format.js";
import { t } from "../../../ui/i18n.js";
import { scrolling } from "../../../ui/table.js";
import { depthLabels } from "../../depths.js";

const partsOf = perRoot((root) => {
  const [legend, bars, table] = [h("p", { class: "legend" }), h("div", null), scrolling(t("lens.classes_label"))];
  root.append(legend, bars, table);
  return { legend, bars, table };
});

/** @param {HTMLElement} root @param {any} found  the lens @param {any} trace */
export function drawClassDepths(root, found, trace) {
  const parts = partsOf(root);
  const labels = depthLabels(found.top.length);
  const shares = found.top.map((ids, depth) => byClass(ids[0], found.probability[depth][0]));
  const colours = ["--bar-pale", "--bar-solid"].map(cssColour);
  // The picture has two bars per row: with more classes, the two most likely at the end; the table has all.
  const shown = found.top
    .at(-1)[0]
    .slice(0, 2)
    .sort((a, b) => a - b);
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
          t("lens.class_bar", { depth: label, name: className(found.classes[id]), p: percent(shares[depth][id], 3) }),
        )
        .join(" · "),
      values: /** @type {[number, number]} */ (shown.map((id) => shares[depth][id])),
      marked: false,
    })),
    series,
    log: false,
    onChoose: () => {},
    filename: "chumoku-lens",
  });
  replace(parts.table, tableOf(found, shares, labels));
}

/** Probabilities in the order of the classes, not of their size. */
function byClass(ids, probabilities) {
  const shares = [];
  ids.forEach((id, i) => (shares[id] = probabilities[i]));
  return shares;
}

function tableOf({ classes }, shares, labels) {
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, t("lens.column_depth")),
    classes.map((name) => h("th", { scope: "col" }, className(name))),
  );
  const rows = shares.map((row, depth) => {
    const most = Math.max(...row);
    const cells = row.map((p, id) =>
      h("td", { class: p === most ? "leads" : null, dataset: { testid: "lens-class", depth, id, p } }, percent(p, 2)),
    );
    return h("tr", null, h("th", { scope: "row" }, labels[depth]), cells);
  });
  return h("table", { class: "lens-top" }, h("thead", null, head), h("tbody", null, rows));
}
