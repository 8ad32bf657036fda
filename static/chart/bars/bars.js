/**
 * The most likely next tokens as bars: the model's probability as a pale bar, that after the sampling settings as a
 * solid bar over it, and both as numbers next to them. Rows are kept between draws, so that keyboard focus stays.
 */

import { tokenName } from "../../model/labels.js";
import { largest } from "../../model/matrix.js";
import { walkList } from "../../ui/controls.js";
import { h, perRoot, replace, setText, svg, update } from "../../ui/dom.js";
import { briefPercent, percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { offeredText } from "../../ui/token_text.js";

// The terms of a sum as signed bars. The text below names the largest, or the one under the pointer or chosen by
// arrow key.

/** In the picture's units: a bar is 1 wide, and the largest term is this high. */
const REACH = 50;

/**
 * @typedef {ReturnType<typeof termBars>} Parts
 * @typedef {Object} TermBars
 * @property {ArrayLike<number>} terms
 * @property {(index: number) => string} words  one term: what times what
 * @property {string} label  a description of the sum for screen readers
 * @property {number|null} [chosen]  marked and named in place of the largest
 * @property {(index: number) => void} [onChoose]
 */

const termBars = perRoot((root) => {
  const paths = {
    up: svg("path", { class: "term-up" }),
    down: svg("path", { class: "term-down" }),
    at: svg("rect", { class: "term-at", width: 1, y: -REACH, height: 2 * REACH }),
  };
  const picture = svg(
    "svg",
    { class: "terms", role: "slider", tabindex: 0, "aria-valuemin": 0, preserveAspectRatio: "none" },
    paths.at,
    paths.up,
    paths.down,
  );
  const said = h("p", { class: "dim term-said" });
  root.append(picture, said);
  const bars = /** @type {TermBars} */ ({ terms: [], words: () => "", label: "" });
  const parts = { picture, said, paths, bars, shown: 0 };
  listen(parts);
  return parts;
});

/** @param {HTMLElement} root @param {TermBars} bars */
export function drawTermBars(root, bars) {
  const parts = termBars(root);
  parts.bars = bars;
  const { terms, label } = bars;
  const most = largest(terms);
  const unit = REACH / (Math.abs(terms[most]) || 1);
  const bar = (/** @type {number} */ i) => `M${i + 0.08} 0v${(-terms[i] * unit).toFixed(2)}h.84V0z`;
  const path = (/** @type {number} */ side) => Array.from(terms, (term, i) => (term * side > 0 ? bar(i) : "")).join("");
  update(parts.picture, {
    viewBox: `0 ${-REACH} ${terms.length} ${2 * REACH}`,
    "aria-label": label,
    "aria-valuemax": terms.length - 1,
  });
  update(parts.paths.up, { d: path(1) });
  update(parts.paths.down, { d: path(-1) });
  show(parts, bars.chosen ?? most);
}

/** Name one term. @param {Parts} parts @param {number} index */
function show(parts, index) {
  const { terms, words } = parts.bars;
  parts.shown = Math.max(0, Math.min(index, terms.length - 1));
  update(parts.paths.at, { x: parts.shown });
  const isMost = parts.shown === largest(terms);
  const said = isMost ? t("inspector.largest", { term: words(parts.shown) }) : words(parts.shown);
  setText(parts.said, said);
  update(parts.picture, { "aria-valuenow": parts.shown, "aria-valuetext": said });
}

/** @param {Parts} parts */
function listen(parts) {
  const { picture } = parts;
  const under = (/** @type {MouseEvent} */ { clientX }) => {
    const { left, width } = picture.getBoundingClientRect();
    return Math.floor(((clientX - left) / width) * parts.bars.terms.length);
  };
  const rest = () => show(parts, parts.bars.chosen ?? largest(parts.bars.terms));
  /** @type {Object<string, number>} */
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity };
  picture.addEventListener("pointermove", (event) => show(parts, under(event)));
  picture.addEventListener("pointerleave", rest);
  picture.addEventListener("click", (event) => parts.bars.onChoose?.(under(event)));
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Enter") parts.bars.onChoose?.(parts.shown);
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(parts, parts.shown + steps[event.key]);
  });
}

/**
 * @typedef {{id: number, text: string, bytes: string, partial: boolean, special: boolean, before: number,
 *   after: number, kept: boolean, piece?: boolean}} Candidate
 * @typedef {Object} Bars
 * @property {Candidate[]} candidates
 * @property {number|null} actual  the id of the actual next token
 * @property {((id: number) => void)|null} onTake
 */

/** The shares at which an axis may end. */
const ROUND = [0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9];

const probabilityBars = perRoot((root) => {
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
  const parts = probabilityBars(root);
  while (parts.rows.length < candidates.length) parts.rows.push(makeRow());
  parts.rows.length = candidates.length;
  const items = parts.rows.map((row) => row.item);
  if (parts.list.childElementCount !== items.length) replace(parts.list, items);
  const full = probabilityScale(candidates);
  setText(parts.scale.high, percent(full, 0));
  parts.rows.forEach((row, i) => showRow(row, candidates[i], { full, actual, onTake }));
}

/** A round number above the longest bar; it is written over the bars. @param {Candidate[]} candidates */
function probabilityScale(candidates) {
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

/**
 * @param {ReturnType<typeof makeRow>} parts @param {Candidate} candidate
 * @param {{full: number, actual: number|null, onTake: Bars["onTake"]}} whole
 */
function showRow({ row, button, name, pale, solid, before, after }, candidate, { full, actual, onTake }) {
  const word = `${candidate.id} ${candidate.text} ${candidate.piece}`; // another model may spell the same id differently
  if (row.word !== word) replace(name, offeredText(candidate)); // a full stop alone would be a speck
  row.word = word;
  row.take = onTake && (() => onTake(candidate.id));
  pale.style.width = `${(candidate.before / full) * 100}%`;
  solid.style.width = `${(candidate.after / full) * 100}%`;
  setText(before, briefPercent(candidate.before)); // as in the dock
  setText(after, candidate.kept ? briefPercent(candidate.after) : `0\u202f%`);
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
