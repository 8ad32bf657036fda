/** What a head gives that predicts nothing: one score, a label for each token, or where an answer would start and end. */

import { rowOf } from "../model/selection.js";
import { h, keepingFocus, perRoot, replace, setText } from "../ui/dom.js";
import { signed } from "../ui/format.js";
import { hasString, phrase, t } from "../ui/i18n.js";
import { listedToken, namedToken } from "../ui/token_text.js";

/**
 * @import { FetchedTrace } from "../data/model_trace.js"
 * @import { FetchedDraw } from "./view.js"
 * @typedef {{rows: number[][], labels: string[], ofTokens: boolean}} Given  a row for each token, or one for the whole text
 */

/** With more labels than these, a token's highest one is shown alone. */
const ALL = 4;

/**
 * The numbers that a head gave, and what they are called. An unnamed label is its number.
 * @param {{shape: number[], data: ArrayLike<number>}} tensor @param {{dims: string, labels?: string[]}} logits @returns {Given}
 */
export function givenIn({ shape, data }, { dims, labels = [] }) {
  const ofTokens = dims.startsWith("position");
  const width = ofTokens ? (shape[1] ?? 1) : shape[0];
  const all = Array.from(data);
  const rows = Array.from({ length: all.length / width }, (_, row) => all.slice(row * width, (row + 1) * width));
  return { rows, labels: Array.from({ length: width }, (_, n) => labels[n] ?? String(n)), ofTokens };
}

/** The index of the highest number; the first of several. @param {number[]} row */
export const highest = (row) => row.reduce((best, x, n) => (x > row[best] ? n : best), 0);

/** Where an answer would most likely start and end, each on its own. @param {Given} given @returns {[number, number]|null} null: the labels are no start and end */
export function spanOf({ rows, labels, ofTokens }) {
  if (!ofTokens || labels.join() !== "start,end") return null;
  return [highest(rows.map(([start]) => start)), highest(rows.map(([, end]) => end))];
}

const elementsOf = perRoot((root) => {
  const about = h("p", { class: "dim hint", dataset: { testid: "given-about" } });
  const found = h("p", { dataset: { testid: "given-span" } });
  const list = h("div", { class: "given-rows", translate: "no" });
  replace(root, h("h2", null, t("given.title")), about, found, list);
  return { about, found, list };
});

/** @type {FetchedDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const { logits } = trace.model.description;
  const given = givenIn(trace.tensor(logits.tap), logits);
  const span = spanOf(given);
  setText(parts.about, t(`given.about.${kindOf(given)}`));
  parts.found.hidden = span === null;
  if (span) replace(parts.found, answerOf(trace, span));
  keepingFocus(parts.list, () =>
    replace(parts.list, given.ofTokens ? tableOf(trace, given, rowOf(state, trace), actions.set) : scoresOf(given)),
  );
}

/** @param {Given} given */
function kindOf(given) {
  if (!given.ofTokens) return given.labels.length === 1 ? "score" : "scores";
  if (spanOf(given)) return "span";
  return given.labels.length === 1 ? "token_score" : "token_labels";
}

/** "highest start: cat, highest end: sat" @param {FetchedTrace} trace @param {[number, number]} span */
function answerOf(trace, [start, end]) {
  const name = (/** @type {number} */ at) => namedToken(trace.queries.tokens[at], "", at);
  return phrase("given.span", { start: name(start), end: name(end) });
}

/** @param {string} label */
const named = (label) => (hasString(`given.label.${label}`) ? t(`given.label.${label}`) : label);

/** @param {Given} given */
const scoresOf = ({ rows: [row], labels }) =>
  h(
    "ul",
    { class: "class-bars" },
    row.map((value, n) =>
      h(
        "li",
        { dataset: { testid: "given-score", label: labels[n], value } },
        h("span", { class: "name" }, named(labels[n])),
        h("b", { class: "mono" }, signed(value, 3)),
      ),
    ),
  );

/** @param {FetchedTrace} trace @param {Given} given @param {number} chosen @param {(patch: {query: number}) => void} set */
function tableOf(trace, given, chosen, set) {
  const { rows, labels } = given;
  const all = labels.length <= ALL;
  const columns = all ? labels.map(named) : [t("given.highest"), t("given.logit")];
  const span = spanOf(given);
  const isMost = (/** @type {number} */ at, /** @type {number} */ n) =>
    span ? span[n] === at : labels.length > 1 && highest(rows[at]) === n;
  const cells = (/** @type {number} */ at) => {
    const best = highest(rows[at]);
    if (!all) return [h("td", null, named(labels[best])), h("td", { class: "mono" }, signed(rows[at][best], 3))];
    return rows[at].map((value, n) => h("td", { class: isMost(at, n) ? "mono most" : "mono" }, signed(value, 3)));
  };
  const row = (/** @type {any} */ token, /** @type {number} */ at) =>
    h(
      "tr",
      { class: at === chosen ? "on" : null, dataset: { testid: "given-row", at, best: labels[highest(rows[at])] } },
      h("th", { scope: "row" }, choose(token, at)),
      cells(at),
    );
  const choose = (/** @type {any} */ token, /** @type {number} */ at) =>
    h(
      "button",
      { type: "button", class: "tok", dataset: { focus: String(at) }, on: { click: () => set({ query: at }) } },
      listedToken(token),
    );
  return h(
    "table",
    null,
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("td"),
        columns.map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h("tbody", null, trace.queries.tokens.map(row)),
  );
}
