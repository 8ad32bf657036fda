/** The numbers of the curves: what each mechanism costs at one length, how that is counted, and what was measured. */

import { h, scrolling, tableHead } from "../../ui/dom.js";
import { integer } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { costOf, count } from "./counts.js";
import { formName, formulaOf, megabytes, millis, product, termName } from "./words.js";

/**
 * @import { Cost, Form, Sizes } from "./counts.js"
 * @import { Measured } from "./measuring.js"
 */

const COLUMNS = ["mechanism", "time", "space", "steps", "path", "multiplications", "memory"];

/** @param {Cost} cost @param {number} n  tokens */
export function costTable({ own, sizes, forms }, n) {
  const rows = forms.map((form) => {
    const [time, space] = [costOf(form, "time", n, sizes), costOf(form, "space", n, sizes)];
    const grows = [`O(${form.time})`, `O(${form.space})`, `O(${form.steps})`, `O(${form.path})`];
    const cells = [...grows, integer(time), megabytes(space)];
    const name = [formName(form.name), form.name === own ? h("span", { class: "dim" }, ` · ${t("cost.own")}`) : null];
    return h(
      "tr",
      { class: form.name === own ? "open" : null, dataset: { testid: "cost", form: form.name, time, space } },
      h("th", { scope: "row", title: formulaOf(form.multiplications) }, name),
      cells.map((cell) => h("td", null, cell)),
    );
  });
  const head = tableHead(COLUMNS.map((name) => t(`cost.column_${name}`)));
  return scrolling(t("cost.table"), h("table", { class: "token-table costs" }, head, h("tbody", null, rows)));
}

/** Every term of one mechanism. @param {Form} form @param {number} n @param {Sizes} sizes */
export function termsTable({ multiplications, numbers }, n, sizes) {
  const row = (term, unit) =>
    h(
      "tr",
      null,
      [termName(term.what), product(term.of), integer(count([term], n, sizes)), unit].map((cell) =>
        h("td", null, cell),
      ),
    );
  const rows = [
    ...multiplications.map((term) => row(term, t("cost.unit_time"))),
    ...numbers.map((term) => row(term, t("cost.unit_space"))),
  ];
  return scrolling(t("cost.terms"), h("table", { class: "token-table costs" }, h("tbody", null, rows)));
}

/** Seconds by mechanism and length. @param {Measured} measured @param {string|null} own */
export function timesTable({ start, points }, own) {
  if (!start) return null;
  const head = tableHead([t("cost.column_mechanism"), ...start.lengths.map((n) => `T = ${integer(n)}`)]);
  const rows = start.forms.map((form) => {
    const cells = start.lengths.map((n) => {
      const point = points.find((one) => one.form === form && one.n === n);
      const words = !point ? "" : point.seconds === null ? t(`cost.why_${point.why}`) : millis(point.seconds);
      return h("td", { class: point?.seconds === null ? "dim" : null }, words);
    });
    return h("tr", { class: form === own ? "open" : null }, h("th", { scope: "row" }, formName(form)), cells);
  });
  return scrolling(t("cost.times"), h("table", { class: "token-table costs" }, head, h("tbody", null, rows)));
}
