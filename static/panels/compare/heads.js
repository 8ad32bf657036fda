/** A list of the heads that changed most: the numbers behind the bars under the overview's pictures. */

import { isExact } from "../../model/compare/heads.js";
import { shareWords } from "../../ui/compare_words.js";
import { h, replace, shareCell, tableHead } from "../../ui/dom.js";
import { headShort, headWords } from "../../ui/heads.js";
import { keyFor, t } from "../../ui/i18n.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { HeadChange } from "../../model/compare/heads.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../stations/index.js"
 */

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
  const isOpen = (one) => one.attention === trace.attention.id && one.layer === state.layer && one.head === state.head;
  const first = [...changes].sort((a, b) => b.moved - a.moved).slice(0, SHOWN);
  const shown = first.some(isOpen) ? first : [...first, ...changes.filter(isOpen)];
  const head = tableHead(
    ["compare.column_head", "compare.column_moved", "leak.future", "leak.pad"].map((key) => t(key)),
  );
  const rows = shown.map((change) => rowOf(change, isOpen(change), exact, trace.model, actions));
  const mean = (name) => changes.reduce((sum, change) => sum + change[name], 0) / changes.length;
  const means = ["moved", "future", "pad"].map((name) => h("td", null, shareWords(mean(name), exact)));
  const foot = h("tr", null, h("th", { scope: "row" }, t("compare.mean", { n: changes.length })), means);
  replace(
    root,
    h("h3", null, t("compare.heads")),
    h("p", { class: "dim" }, aboutOf(trace), exact ? null : ` ${t("compare.approximate")}`),
    h("table", { class: "token-table" }, head, h("tbody", null, rows), h("tfoot", null, foot)),
  );
}

/** The rows of the mean; with several attentions, each has its own. */
function aboutOf({ attentions, model, real }) {
  const key = attentions.length > 1 ? "compare.heads_about_all" : keyFor(model, "compare.heads_about");
  return t(key, { n: real.end - real.start });
}

function rowOf({ attention, layer, head, moved, future, pad }, isOpen, exact, model, actions) {
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
