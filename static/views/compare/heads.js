/** A list of the heads that changed most: the numbers behind the bars under the overview's pictures. */

import { isExact, leakOfHead, leakRows, squareOf } from "../../model/compare/measure.js";
import { isBefore, sidesAfter } from "../../model/compare/runs.js";
import { position } from "../../model/selection.js";
import { sideOf } from "../../model/sides.js";
import { shareWords } from "../../ui/compare_words.js";
import { h, replace, scrolling, shareCell, tableHead } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { headShort, headTitle, headWords } from "../../ui/heads.js";
import { keyFor, t } from "../../ui/i18n.js";
import { tokenText } from "../../ui/token_text.js";

/**
 * @import { Compared, Detail, ModelTrace } from "../../data/model_trace.js"
 * @import { HeadChange, Leak } from "../../model/compare/measure.js"
 * @import { Model } from "../../model/description.js"
 * @import { Token } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

// The leaks of the open head in the run after, token by token of the shown run, from its float32 weights.

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
      rows.map((row) => leakRow(row, position(state, trace), actions)),
      mean,
    );
  const scrolled = root.querySelector(".scroll")?.scrollTop ?? 0;
  replace(root, title, h("p", { class: "dim" }, t(total === 0 ? "leak.none" : "leak.about")), total > 0 && table());
  root.querySelector(".scroll")?.scrollTo(0, scrolled);
}

/** @param {HTMLTableRowElement[]} rows @param {Leak} mean */
function tableOf(rows, mean) {
  const head = tableHead([t("leak.column_token"), t("leak.future"), t("leak.pad")]);
  const cells = [h("td", null, percent(mean.future)), h("td", null, percent(mean.pad))];
  const foot = h("tr", { dataset: { testid: "leak-mean", ...mean } }, h("th", { scope: "row" }, t("leak.mean")), cells);
  const table = h("table", { class: "token-table" }, head, h("tbody", null, rows), h("tfoot", null, foot));
  return scrolling(t("leak.title"), table);
}

/** @param {Leak & {token: Token}} parts @param {{query: number, key: number}} parts @param {Actions} actions */
function leakRow({ token, ...leak }, { query }, actions) {
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

const SHOWN = 6;

/**
 * @param {Element} root
 * @param {HeadChange[]} changes
 * @param {ModelTrace} trace
 * @param {State} state
 * @param {Actions} actions
 */
export function drawChangedHeads(root, changes, trace, state, actions) {
  const exact = isExact(trace);
  const isOpen = (/** @type {HeadChange} */ one) =>
    one.attention === trace.attention.id && one.layer === state.layer && one.head === state.head;
  const first = [...changes].sort((a, b) => b.moved - a.moved).slice(0, SHOWN);
  const shown = first.some(isOpen) ? first : [...first, ...changes.filter(isOpen)];
  const head = tableHead(
    ["compare.column_head", "compare.column_moved", "leak.future", "leak.pad"].map((key) => t(key)),
  );
  const rows = shown.map((change) => headRow(change, isOpen(change), exact, trace.model, actions));
  const mean = (/** @type {"moved"|"future"|"pad"} */ name) =>
    changes.reduce((sum, change) => sum + change[name], 0) / changes.length;
  const means = /** @type {const} */ (["moved", "future", "pad"]).map((name) =>
    h("td", null, shareWords(mean(name), exact)),
  );
  const foot = h("tr", null, h("th", { scope: "row" }, t("compare.mean", { n: changes.length })), means);
  replace(
    root,
    h("h3", null, t("compare.heads")),
    h("p", { class: "dim" }, aboutOf(trace), exact ? null : ` ${t("compare.approximate")}`),
    h("table", { class: "token-table" }, head, h("tbody", null, rows), h("tfoot", null, foot)),
  );
}

/** The rows of the mean; with several attentions, each has its own. @param {ModelTrace} trace */
function aboutOf({ attentions, model, real }) {
  const key = attentions.length > 1 ? "compare.heads_about_all" : keyFor(model, "compare.heads_about");
  return t(key, { n: real.end - real.start });
}

/** @param {HeadChange} change @param {boolean} isOpen @param {boolean} exact @param {Model} model @param {Actions} actions */
function headRow({ attention, layer, head, moved, future, pad }, isOpen, exact, model, actions) {
  const label = t("compare.open_head", {
    of: headWords(model, { attention, layer, head }),
    moved: shareWords(moved, exact),
  });
  const open = () => actions.set({ attention, layer, head });
  const named = { title: label, "aria-label": label, "aria-pressed": isOpen };
  const dataset = { focus: `head ${attention} ${layer} ${head}` };
  const attrs = { class: "btn", type: "button", ...named, dataset, on: { click: open } };
  return h(
    "tr",
    { class: isOpen ? "open" : null, dataset: { testid: "moved-head", attention, layer, head, moved, future, pad } },
    h("th", { scope: "row" }, h("button", attrs, headShort(model, { attention, layer, head }))),
    shareCell(moved, shareWords(moved, exact)),
    h("td", null, shareWords(future, exact)),
    h("td", null, shareWords(pad, exact)),
  );
}
