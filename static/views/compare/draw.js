/**
 * What changed between two runs, in numbers: heads, leaks, the next token; and a padded run compared with the single
 * run.
 */

import {
  changesOf,
  largestDifference,
  largestGap,
  logSoftmax,
  openSquare,
  squareOf,
} from "../../model/compare/measure.js";
import { comparable, compared, hasLogits, hasWeights } from "../../model/compare/runs.js";
import { predictsTokens } from "../../model/description.js";
import { rowOf } from "../../model/selection.js";
import { inside } from "../../model/sides.js";
import { runWords, whyDifferent, whyWords } from "../../ui/compare_words.js";
import { h, keepingFocus, perRoot, replace, setText, shareCell, tableHead } from "../../ui/dom.js";
import { errorText, percent, power } from "../../ui/format.js";
import { keyFor, t } from "../../ui/i18n.js";
import { className } from "../../ui/token_text.js";
import { drawChangedHeads, drawLeaks } from "./heads.js";
import { drawChangedNext } from "./next.js";

/**
 * @import { Compared, ModelTrace } from "../../data/model_trace.js"
 * @import { Tensor } from "../../data/wire.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Draw } from "../view.js"
 */

// A padded run compared with the single run that it should equal.

/** Tolerance for float32 sums in another order. */
const ROUNDING = 1e-5;

/**
 * @param {ModelTrace} trace @param {State} state
 * @returns {{text: string, equal: boolean, weights: number, next: number|null}|null} null: without PADs there is
 * nothing to compare
 */
export function paddingVerdict(trace, state) {
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
export function drawChangedClasses(root, { compared }) {
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
    t("masks.compare_about", { before: runWords(before, trace.model), after: runWords(after, trace.model) }),
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
