/** How the classes of an encoder moved: their probabilities before and after. */

import { className } from "../../ui/class_name.js";
import { h, replace } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/** @param {Element} root @param {import("../../data/model_trace.js").ModelTrace} trace */
export function drawChangedClasses(root, { change }) {
  const [was, is] = [change?.before.classes ?? [], change?.after.classes ?? []];
  const columns = ["compare.class", "matrix.before", "matrix.after"];
  const head = h(
    "tr",
    null,
    columns.map((key) => h("th", { scope: "col" }, t(key))),
  );
  const bar = (share) => h("span", { class: "share-bar", "aria-hidden": true, style: { "--share": share } });
  const cell = ({ probability }) => h("td", null, bar(probability), percent(probability, 2));
  const rows = was.map((one, i) => {
    const data = { testid: "class-change", before: one.probability, after: is[i].probability };
    return h("tr", { dataset: data }, h("th", { scope: "row" }, className(one.name)), cell(one), cell(is[i]));
  });
  replace(
    root,
    h("h3", null, t("compare.classes")),
    h("table", { class: "token-table" }, h("thead", null, head), h("tbody", null, rows)),
  );
}
