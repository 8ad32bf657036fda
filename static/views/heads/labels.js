/** Labels of heads on this sentence: marks in the overview, and the rule of the open head's label. */

import { changesOf, isExact } from "../../model/compare/measure.js";
import { can, readsRepeats, showsMeans } from "../../model/description.js";
import { shareWords } from "../../ui/compare_words.js";
import { h, keepingFocus, perRoot, replace, shareCell } from "../../ui/dom.js";
import { number, percent } from "../../ui/format.js";
import { HEAD_KINDS, headKindName, headMark, headWords, setHeadChips } from "../../ui/heads.js";
import { hasString, keyFor, t } from "../../ui/i18n.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, Panel } from "../view.js"
 * @import { Row } from "./heads.js"
 */

// A bar under each head of the overview: how much of its weight changed between the two runs.

/** A row of bars, for below a row of pictures. @param {number} nHead @returns {HTMLElement} */
export function barsRow(nHead) {
  const bars = Array.from({ length: nHead }, () => h("i", { class: "moved", dataset: { testid: "moved-bar" } }));
  return h("div", { class: "moved-row", "aria-hidden": true, hidden: true }, h("small"), bars);
}

/**
 * @param {Row[]} rows  of the overview
 * @param {ModelTrace} trace @param {State} state
 */
export function drawHeadChanges(rows, trace, state) {
  const found = state.compare ? changesOf(trace) : null;
  const changes = found ?? [];
  const compared = new Set(changes.map(({ attention }) => attention));
  for (const { attention, layer, bars, cells } of rows) {
    bars.hidden = !compared.has(attention);
    if (!bars.hidden) continue;
    cells.forEach((canvas, head) => nameHead(canvas, headWords(trace.model, { attention, layer, head })));
  }
  if (!found) return;
  const exact = isExact(trace);
  const rowOf = new Map(rows.map((row) => [`${row.attention} ${row.layer}`, row]));
  for (const { attention, layer, head, moved, future, pad } of changes) {
    const row = /** @type {Row} */ (rowOf.get(`${attention} ${layer}`));
    const bar = /** @type {HTMLElement} */ (row.bars.children[head + 1]);
    bar.style.setProperty("--share", String(moved));
    Object.assign(bar.dataset, { attention, layer, head, moved });
    const shares = { moved: shareWords(moved, exact), future: shareWords(future, exact), pad: shareWords(pad, exact) };
    nameHead(
      row.cells[head],
      t("compare.head_cell", { of: headWords(trace.model, { attention, layer, head }), ...shares }),
    );
  }
}

/** A picture's name, with its head's label if it has one. @param {HTMLElement} canvas @param {string} name */
export function nameHead(canvas, name) {
  const { label, effect } = canvas.dataset;
  const named = label ? t("labels.named", { name, label: headKindName(label) }) : name;
  const shown = "off" in canvas.dataset ? t("heads.named_off", { name: named }) : named;
  const text = effect ? `${shown} · ${effect}` : shown;
  if (canvas.dataset.name !== name) canvas.dataset.name = name;
  if (canvas.title === text) return;
  canvas.title = text;
  canvas.setAttribute("aria-label", text);
}

/**
 * @typedef {{score: number, share: number, rows: number, fits: boolean}} Score
 * @typedef {{attention: string, layer: number, head: number, label: string|null, scores: Object<string, Score>}} Labelled
 * @typedef {Object<string, {threshold: number, words: string}>} Rules
 */

const elementsOf = perRoot((root) => {
  const said = h("p", { class: "label-said", dataset: { testid: "head-label" } });
  const counts = h("p", { class: "label-counts dim", dataset: { testid: "label-counts" } });
  const list = h("ul", { class: "label-list" });
  const about = h("p", { class: "dim" }, t("labels.sink"));
  const repeated = h("section", { class: "label-repeated", dataset: { testid: "label-repeated" } });
  const all = h(
    "details",
    { class: "label-scores", dataset: { testid: "label-scores" } },
    h("summary", null, t("labels.all")),
    about,
    list,
  );
  replace(root, h("div", { class: "bar" }, h("h1", null, t("labels.title"))), said, counts, repeated, all);
  return { said, counts, repeated, list, all, shown: "", drawn: /** @type {unknown} */ (null) };
});

/** @type {Panel} */
export default {
  id: "labels",
  frame: { place: "drawer", className: "panel labels", title: "labels.title", tool: "cause" },
  has: (model) => can(model, "heads"),
  needs: ["explain:heads"],
  also: (_, model) => (readsRepeats(model) ? ["explain:induction"] : []),
  draw(root, trace, state, actions) {
    const { heads, rules } = /** @type {{heads: Labelled[], rules: Rules}} */ (trace.explained.heads);
    const parts = elementsOf(root);
    drawRepeated(parts.repeated, heads, trace, state, actions);
    const isOpen = (/** @type {Labelled} */ { attention, layer, head }) =>
      attention === trace.attention.id && layer === state.layer && head === state.head;
    const open = heads.find(isOpen);
    const shown = [trace.model.name, state.text, state.attention, state.layer, state.head].join();
    setHeadChips(actions.page, open?.label ? headKindName(open.label) : "", t(keyFor(trace.model, "labels.about")));
    if (shown === parts.shown && heads === parts.drawn) return; // nothing else is said: the browser need not lay out
    keepHeight(root, parts, shown);
    parts.drawn = heads;
    replace(parts.counts, countsOf(heads, trace));
    if (!open) return;
    replace(parts.said, saidOf(open, rules));
    parts.said.hidden = !parts.said.hasChildNodes();
    parts.said.dataset.kind = open.label ?? "";
    replace(
      parts.list,
      Object.entries(open.scores)
        .sort(byScore)
        .map(([kind, score]) => lineOf(kind, score, rules[kind])),
    );
  },
};

/**
 * @typedef {Object} Induction  the answer to "induction"
 * @property {{attention: string, layer: number, head: number, prefix_matching: number, copying: number|null}[]} heads
 * @property {number} repeated @property {number} sequences @property {number} chance @property {number} copying_chance
 */

/** What was measured on random tokens; null: it is not here, or was refused. @param {ModelTrace["explained"]} explained @returns {Induction|null} */
export const inductionIn = ({ induction }) => (induction?.heads ? induction : null);

/** How many heads are listed. */
const MOST_REPEATED = 6;

/**
 * Beside the labels, which are about this sentence: what heads do on random tokens that repeat, most first; a click opens one.
 * @param {HTMLElement} root @param {Labelled[]} labelled @param {ModelTrace} trace @param {State} state @param {Actions} actions
 */
function drawRepeated(root, labelled, trace, state, actions) {
  const found = inductionIn(trace.explained);
  root.hidden = !found;
  if (!found) return;
  const most = [...found.heads].sort((a, b) => b.prefix_matching - a.prefix_matching).slice(0, MOST_REPEATED);
  const labelOf = (/** @type {Induction["heads"][number]} */ { attention, layer, head }) =>
    labelled.find((one) => one.attention === attention && one.layer === layer && one.head === head)?.label;
  const rows = most.map((one) => {
    const { attention, layer, head, prefix_matching: prefix, copying } = one;
    const open = attention === trace.attention.id && layer === state.layer && head === state.head;
    const focus = `repeated ${attention} ${layer} ${head}`;
    const button = h(
      "button",
      { class: "link", type: "button", "aria-current": open ? "true" : null, dataset: { focus } },
      headWords(trace.model, { attention, layer, head }),
    );
    button.onclick = () => actions.set({ attention, layer, head });
    const label = labelOf(one);
    return h(
      "tr",
      { dataset: { testid: "repeated-head", layer, head, prefix, copying } },
      h("th", { scope: "row" }, button),
      h("td", null, label ? headKindName(label) : "–"),
      shareCell(prefix, percent(prefix, 0)),
      copying === null ? h("td", null, "–") : shareCell(copying, percent(copying, 0)),
    );
  });
  const columns = ["head", "label", "prefix", "copying"].map((name) =>
    h("th", { scope: "col" }, t(`labels.repeated_${name}`)),
  );
  const [chance, random] = [found.chance, found.copying_chance].map((part) => percent(part, 0));
  const about = t("labels.repeated_about", { n: found.repeated, chance, random });
  const table = h("table", { class: "token-table" }, h("thead", null, h("tr", null, columns)), h("tbody", null, rows));
  const title = h("h2", null, t("labels.repeated"));
  keepingFocus(root, () => replace(root, title, h("p", { class: "dim" }, about), table));
}

/**
 * Keeps the height for the same head on the same sentence, even if the text gets shorter, so that a mask's switch stays
 * under the pointer.
 * @param {HTMLElement} root @param {ReturnType<typeof elementsOf>} parts @param {string} shown
 */
function keepHeight(root, parts, shown) {
  const same = shown === parts.shown && !parts.all.open;
  root.style.minHeight = same ? `${root.offsetHeight}px` : "";
  parts.shown = shown;
}

/** @param {[string, Score]} first @param {[string, Score]} second */
const byScore = ([, a], [, b]) => b.score - a.score;

/**
 * About a head without a label, nothing is said below this score or before *Everything*: it does nothing that has a
 * name.
 */
const SAYABLE = 0.15;

/** The open head in a sentence: its pattern, or a weak pattern; null if there is nothing to say. @param {Labelled} head @param {Rules} rules */
function saidOf({ label, scores }, rules) {
  if (label) {
    const score = number(scores[label].score, 2);
    const says = hasString(`labels.${label}.says`)
      ? t(`labels.${label}.says`, { score })
      : `${score}: ${rules[label].words}`;
    return [h("span", { class: "role" }, headKindName(label)), " ", h("span", { class: "dim" }, says)];
  }
  const [kind, { score }] = Object.entries(scores).sort(byScore)[0];
  if (score < SAYABLE) return null;
  return h("span", { class: "dim" }, t("labels.a_little", { kind: headKindName(kind), score: percent(score, 0) }));
}

/** One kind's score of the open head, what it needs, and its rule. @param {string} kind @param {Score} score @param {Rules[string]} rule */
function lineOf(kind, { score, fits }, { threshold, words }) {
  const bar = { style: { "--score": score, "--needs": threshold } };
  const figures = t("labels.needs", { score: number(score, 2), threshold: number(threshold, 2) });
  return h(
    "li",
    { class: fits ? "fits" : null, dataset: { kind, score } },
    h("span", { class: "name" }, headMark(kind), headKindName(kind)),
    h("span", { class: "mono" }, figures),
    h("span", { class: "score-bar", "aria-hidden": "true", ...bar }),
    h("small", { class: "dim" }, hasString(`labels.${kind}.rule`) ? t(`labels.${kind}.rule`) : words),
  );
}

/**
 * How many heads have each label; this is also the key to the marks.
 * @param {Labelled[]} heads @param {ModelTrace} trace
 */
function countsOf(heads, { attentions, model }) {
  const key = attentions.every(showsMeans) ? "labels.counts_groups" : keyFor(model, "labels.counts"); // means of groups of features
  const labelled = heads.filter(({ label }) => label);
  const kinds = HEAD_KINDS.map((kind) => [kind, labelled.filter(({ label }) => label === kind).length]).filter(
    ([, n]) => n,
  );
  const items = kinds.map(([kind, n]) =>
    h("span", { class: "label-kind" }, headMark(String(kind)), `${headKindName(String(kind))} ${n}`),
  );
  return [t(key, { n: labelled.length, all: heads.length }), " ", items];
}

/** Marks the pictures of the overview whose head has a label. @param {Row[]} rows @param {Labelled[]} heads */
export function markLabels(rows, heads) {
  const rowOf = new Map(rows.map((row) => [`${row.attention} ${row.layer}`, row]));
  for (const { attention, layer, head, label } of heads) {
    const canvas = rowOf.get(`${attention} ${layer}`)?.cells[head];
    const place = canvas?.nextElementSibling;
    if (!canvas || !place) continue;
    if (canvas.dataset.label !== (label ?? undefined)) replace(place, label && headMark(label));
    if (label) canvas.dataset.label = label;
    else delete canvas.dataset.label;
    nameHead(canvas, canvas.dataset.name ?? canvas.title);
  }
}

/** Removes the labels of another sentence. @param {Row[]} rows */
export function forgetLabels(rows) {
  for (const canvas of rows.flatMap(({ cells }) => cells)) {
    delete canvas.dataset.label;
    canvas.nextElementSibling?.replaceChildren();
  }
}
