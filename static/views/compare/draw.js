/**
 * What changed between two runs, in numbers: heads, leaks, the next token; and a padded run compared with the single
 * run.
 */

import {
  changesOf,
  isExact,
  largestDifference,
  largestGap,
  leakOfHead,
  leakRows,
  logSoftmax,
  openSquare,
  squareOf,
} from "../../model/compare/measure.js";
import { comparable, compared, hasLogits, hasWeights, isBefore, sidesAfter } from "../../model/compare/runs.js";
import { predictsTokens } from "../../model/description.js";
import { position, rowOf } from "../../model/selection.js";
import { inside, sideOf } from "../../model/sides.js";
import { runWords, shareWords, whyDifferent, whyWords } from "../../ui/compare_words.js";
import { h, keepingFocus, perRoot, replace, scrolling, setText, shareCell, tableHead } from "../../ui/dom.js";
import { errorText, percent, power } from "../../ui/format.js";
import { headShort, headTitle, headWords } from "../../ui/heads.js";
import { keyFor, t } from "../../ui/i18n.js";
import { className, tokenText } from "../../ui/token_text.js";
import { drawChangedNext } from "./next.js";

/**
 * @import { Compared, Detail, ModelTrace } from "../../data/model_trace.js"
 * @import { Tensor } from "../../data/wire.js"
 * @import { HeadChange, Leak } from "../../model/compare/measure.js"
 * @import { Model } from "../../model/description.js"
 * @import { Token } from "../../model/labels.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, Draw } from "../view.js"
 */

// A padded run compared with the single run that it should equal.

/** Tolerance for float32 sums in another order. */
const ROUNDING = 1e-5;

/**
 * @param {ModelTrace} trace @param {State} state
 * @returns {{text: string, equal: boolean, weights: number, next: number|null}|null} null: without PADs there is
 * nothing to compare
 */
function paddingVerdict(trace, state) {
  const { alone, after } = /** @type {Compared} */ (trace.compared);
  if (!alone) return null;
  const { attention, queries, keys } = trace;
  const single = squareOf(alone.detail.overview.data, attention, withoutPads(queries), withoutPads(keys));
  const weights = largestDifference(single, openSquare(trace, trace.detail));
  const next = nextGap(trace, alone.logits, after.logits, rowOf(state, trace));
  const equal = Math.max(weights, next ?? 0) <= ROUNDING;
  const vars = {
    gap: power(weights),
    next: next === null ? "" : power(next),
    why: equal ? "" : whyDifferent(state, trace.model),
  };
  const what = next === null ? "" : trace.written ? "_next" : "_classes";
  const key = `compare.${equal ? "equal" : "differs"}${what}`;
  return { text: t(key, vars), equal, weights, next };
}

/** A side as it is in the single run. @param {Side} side */
function withoutPads({ tokens, real, ...more }) {
  return { ...more, tokens: tokens.slice(real.start, real.end), real: { start: 0, end: real.end - real.start } };
}

/** The largest difference between the probabilities after the chosen position, or of the classes; null in a PAD’s row and where gaps are filled. @param {ModelTrace} trace @param {Tensor} alone @param {Tensor|null} padded @param {number} query */
function nextGap({ written, model, classes }, alone, padded, query) {
  if ((!written && !classes) || !alone || !padded) return null;
  if (!written) return largestGap(logSoftmax(alone.data, []), logSoftmax(padded.data, []));
  if (!inside(written.real, query)) return null;
  const row = (/** @type {Tensor} */ { data, shape }, /** @type {number} */ at) =>
    logSoftmax(data.subarray(at * shape[1], (at + 1) * shape[1]), model.never_sampled);
  return largestGap(row(alone, query - written.real.start), row(padded, query));
}

// How the classes of an encoder moved: their probabilities before and after.

/** @param {Element} root @param {ModelTrace} trace */
function drawChangedClasses(root, { compared }) {
  const [was, is] = [compared?.before.classes ?? [], compared?.after.classes ?? []];
  const head = tableHead([t("compare.class"), t("matrix.before"), t("matrix.after")]);
  /** @param {{name: string, logit: number, probability: number}} parts */
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

const elementsOf = perRoot((root) => {
  const where = h("span", { class: "dim" });
  const verdict = h("p", { class: "verdict", role: "status", dataset: { testid: "verdict" } });
  const part = (/** @type {string} */ name) => h("section", { class: `compare-${name}` });
  const parts = { heads: part("heads"), leaks: part("leaks"), next: part("next") };
  const title = h("h2", null, h("span", { class: "nowrap" }, t("compare.title")), where);
  replace(root, title, verdict, h("div", { class: "compare-parts" }, Object.values(parts)));
  return { where, verdict, ...parts };
});

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const { before, after } = compared(state, trace.model);
  setText(
    parts.where,
    t("compare.runs", { before: runWords(before, trace.model), after: runWords(after, trace.model) }),
  );
  const { pairs, reason } = comparable(state, trace.model);
  if (reason) drawVerdict(parts.verdict, { text: whyWords(pairs, reason, trace.model), equal: true });
  else drawVerdict(parts.verdict, paddingVerdict(trace, state));
  parts.heads.hidden = !pairs.some(({ what }) => what === "weights");
  parts.leaks.hidden = !hasWeights(pairs, state, trace.model);
  parts.next.hidden = !hasLogits(pairs);
  keepingFocus(root, () => {
    const changes = changesOf(trace);
    if (!parts.heads.hidden && changes) drawChangedHeads(parts.heads, changes, trace, state, actions);
    else if (!parts.heads.hidden) say(parts.heads, "compare.heads", waitsFor(trace));
    if (!parts.leaks.hidden) drawLeaks(parts.leaks, trace, state, actions);
    if (parts.next.hidden) return;
    if (!trace.compared?.after.logits) say(parts.next, "compare.next", t("compare.too_long"));
    else if (predictsTokens(trace.model)) drawChangedNext(parts.next, trace, state, actions);
    else if (trace.classes) drawChangedClasses(parts.next, trace);
    else replace(parts.next);
  });
}

/** In the place of numbers. @param {HTMLElement} root @param {string} title @param {string} text */
function say(root, title, text) {
  replace(root, h("h3", null, t(title)), h("p", { class: "dim", dataset: { testid: "left-out" } }, text));
}

/** Whether it waits for the server, which measures all heads of a long text layer by layer. @param {ModelTrace} trace */
function waitsFor({ explained: { changes }, model }) {
  return changes?.refused ? errorText(changes.refused) : t(keyFor(model, "compare.heads_wait"));
}

/** @param {HTMLElement} node @param {{text: string, equal: boolean, weights?: number, next?: number|null}|null} verdict  null: nothing to say */
function drawVerdict(node, verdict) {
  node.hidden = verdict === null;
  if (!verdict) return;
  setText(node, verdict.text);
  node.classList.toggle("differs", !verdict.equal);
  Object.assign(node.dataset, { weights: verdict.weights ?? "", next: verdict.next ?? "" });
}

// A list of the heads that changed most: the numbers behind the bars under the overview's pictures.

// The leaks of the open head in the run after, token by token of the shown run, from its float32 weights.

/**
 * @param {Element} root
 * @param {ModelTrace} trace
 * @param {State} state
 * @param {Actions} actions
 */
function drawLeaks(root, trace, state, actions) {
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
function drawChangedHeads(root, changes, trace, state, actions) {
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
