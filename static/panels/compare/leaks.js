/** The leaks of the open head in the run after, token by token of the shown run, from its float32 weights. */

import { leakOfHead, leakRows } from "../../model/compare/measure.js";
import { isBefore, sidesAfter } from "../../model/compare/runs.js";
import { squareOf } from "../../model/compare/square.js";
import { position } from "../../model/selection.js";
import { sideOf } from "../../model/sides.js";
import { h, replace, scrolling, shareCell, tableHead } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { headTitle } from "../../ui/heads.js";
import { t } from "../../ui/i18n.js";
import { tokenText } from "../../ui/token_text.js";

/**
 * @import { Compared, Detail, ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../stations/index.js"
 */

/**
 * @param {Element} root
 * @param {ModelTrace} trace
 * @param {State} state
 * @param {Actions} actions
 */
export function drawLeaks(root, trace, state, actions) {
  const after = /** @type {Detail} */ (isBefore(state) ? trace.comparedDetail : trace.detail);
  const { sides } = /** @type {Compared} */ (trace.compared).after;
  const [queries, keys] = [sideOf(sides, trace.attention.queries), sideOf(sides, trace.attention.keys)];
  const square = squareOf(after.overview.data, trace.attention, queries, keys);
  const mean = leakOfHead(square);
  const of = h("span", { class: "dim" }, headTitle(trace.model, state));
  const title = h("h3", null, t("leak.title"), " ", of);
  const total = mean.future + mean.pad;
  const at = sidesAfter(state, trace.model)[trace.attention.queries];
  const rows = total === 0 || !at ? [] : leakRows(square, trace.queries, at);
  const table = () =>
    tableOf(
      rows.map((row) => rowOf(row, position(state, trace), actions)),
      mean,
    );
  const scrolled = root.querySelector(".scroll")?.scrollTop ?? 0;
  replace(root, title, h("p", { class: "dim" }, t(total === 0 ? "leak.none" : "leak.about")), total > 0 && table());
  root.querySelector(".scroll")?.scrollTo(0, scrolled);
}

function tableOf(rows, mean) {
  const head = tableHead([t("leak.column_token"), t("leak.future"), t("leak.pad")]);
  const cells = [h("td", null, percent(mean.future)), h("td", null, percent(mean.pad))];
  const foot = h("tr", { dataset: { testid: "leak-mean", ...mean } }, h("th", { scope: "row" }, t("leak.mean")), cells);
  const table = h("table", { class: "token-table" }, head, h("tbody", null, rows), h("tfoot", null, foot));
  return scrolling(t("leak.title"), table);
}

function rowOf({ token, ...leak }, { query }, actions) {
  const choose = () => actions.set({ query: token.index });
  const attrs = { class: "tok", type: "button", on: { click: choose }, dataset: { focus: `leak ${token.index}` } };
  const name = h("button", attrs, tokenText(token), h("i", null, token.index));
  return h(
    "tr",
    { class: token.index === query ? "q" : null, dataset: { testid: "leak-row", index: token.index, ...leak } },
    h("th", { scope: "row" }, name),
    shareCell(leak.future, percent(leak.future)),
    shareCell(leak.pad, percent(leak.pad)),
  );
}
