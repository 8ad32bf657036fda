/**
 * The most likely next tokens as bars: the model's own probability as a pale bar, what is sampled from as a solid bar
 * over it, both as numbers beside them. Rows are kept between two draws, so keyboard focus stays.
 */

import { tokenName } from "../../model/labels.js";
import { h, perRoot, replace, setText, update } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { walkList } from "../../ui/list_keys.js";
import { tokenText } from "../../ui/token_text.js";

/**
 * @typedef {{id: number, text: string, bytes: string, partial: boolean, special: boolean, before: number,
 *   after: number, kept: boolean}} Candidate
 * @typedef {Object} Bars
 * @property {Candidate[]} candidates
 * @property {number|null} actual  the id of the actual next token
 * @property {((id: number) => void)|null} onTake
 */

/** The shares at which an axis may end. */
const ROUND = [0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9];

const partsOf = perRoot((root) => {
  const scale = { low: h("span", null, "0"), high: h("span") };
  const list = h("ol", { on: { keydown: (event) => walkList(event, "ArrowUp", "ArrowDown") } });
  const head = h(
    "div",
    { class: "dist-head" },
    h("span"),
    h("span", { class: "axis", "aria-hidden": true }, scale.low, scale.high),
    h("span", { class: "is-before" }, t("next.before")),
    h("span", { class: "is-after" }, t("next.after")),
  );
  root.classList.add("dist");
  replace(root, head, list);
  return { scale, list, rows: /** @type {ReturnType<typeof makeRow>[]} */ ([]) };
});

/** @param {HTMLElement} root @param {Bars} bars */
export function drawBars(root, { candidates, actual, onTake }) {
  const parts = partsOf(root);
  while (parts.rows.length < candidates.length) parts.rows.push(makeRow());
  parts.rows.length = candidates.length;
  const items = parts.rows.map((row) => row.item);
  if (parts.list.childElementCount !== items.length) replace(parts.list, items);
  const full = scaleOf(candidates);
  setText(parts.scale.high, percent(full, 0));
  parts.rows.forEach((row, i) => showRow(row, candidates[i], { full, actual, onTake }));
}

/** A round number above the longest bar; it is written over the bars. @param {Candidate[]} candidates */
export function scaleOf(candidates) {
  const longest = Math.max(...candidates.flatMap(({ before, after }) => [before, after]));
  return ROUND.find((round) => longest <= round) ?? 1;
}

function makeRow() {
  const name = h("span", { class: "tokname" });
  const [pale, solid] = [h("span", { class: "bar-before" }), h("span", { class: "bar-after" })];
  const [before, after] = [h("span", { class: "mono is-before" }), h("span", { class: "mono is-after" })];
  const row = { word: "", take: /** @type {(() => void)|null} */ (null) };
  const button = h(
    "button",
    { type: "button", class: "cand", dataset: { testid: "candidate" }, on: { click: () => row.take?.() } },
    name,
    h("span", { class: "track", "aria-hidden": true }, pale, solid),
    before,
    after,
  );
  return { row, item: h("li", null, button), button, name, pale, solid, before, after };
}

function showRow({ row, button, name, pale, solid, before, after }, candidate, { full, actual, onTake }) {
  const word = `${candidate.id} ${candidate.text}`; // another model may spell the same id differently
  if (row.word !== word) replace(name, tokenText(candidate));
  row.word = word;
  row.take = onTake && (() => onTake(candidate.id));
  pale.style.width = `${(candidate.before / full) * 100}%`;
  solid.style.width = `${(candidate.after / full) * 100}%`;
  setText(before, percent(candidate.before));
  setText(after, candidate.kept ? percent(candidate.after) : t("next.cut"));
  button.classList.toggle("cut", !candidate.kept);
  button.classList.toggle("actual", candidate.id === actual);
  const { id, kept } = candidate;
  const words = labelOf(candidate, id === actual);
  update(button, { title: words, "aria-label": words, "aria-disabled": onTake ? null : "true" });
  update(button, { dataset: { id, kept, before: candidate.before, after: candidate.after } });
}

/** A row as text, with more digits than fit on the page. @param {Candidate} candidate @param {boolean} actual */
function labelOf(candidate, actual) {
  const { id, before, after, kept } = candidate;
  const vars = { token: tokenName(candidate), id, before: percent(before, 3), after: percent(after, 3) };
  const said = t(kept ? "next.candidate" : "next.candidate_cut", vars);
  return actual ? `${said}, ${t("next.is_actual")}` : said;
}
