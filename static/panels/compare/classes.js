/** How the classes of an encoder moved: their probabilities before and after. */

import { h, replace, shareCell, tableHead } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { className } from "../../ui/token_text.js";

/** @import { ModelTrace } from "../../data/model_trace.js" */

/** @param {Element} root @param {ModelTrace} trace */
export function drawChangedClasses(root, { compared }) {
  const [was, is] = [compared?.before.classes ?? [], compared?.after.classes ?? []];
  const head = tableHead([t("compare.class"), t("matrix.before"), t("matrix.after")]);
  const cell = ({ probability }) => shareCell(probability, percent(probability, 2));
  const rows = was.map((one, i) => {
    const data = { testid: "class-change", before: one.probability, after: is[i].probability };
    return h("tr", { dataset: data }, h("th", { scope: "row" }, className(one.name)), cell(one), cell(is[i]));
  });
  replace(
    root,
    h("h3", null, t("compare.classes")),
    h("table", { class: "token-table" }, head, h("tbody", null, rows)),
  );
}
