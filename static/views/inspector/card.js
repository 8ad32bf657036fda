/** The arithmetic as a card: what is explained and its number, then a line for each step, all of it seen at once. */

import { rankState } from "../../data/explain.js";
import { canPut, otherSentence } from "../../model/by_hand.js";
import { changesOf } from "../../model/compare/measure.js";
import { isDifference } from "../../model/compare/runs.js";
import { can } from "../../model/description.js";
import { namesIn } from "../../model/labels.js";
import {
  h,
  inOneColumn,
  keepingFocus,
  measured,
  perRoot,
  replace,
  replaceChanged,
  setText,
  svg,
  update,
} from "../../ui/dom.js";
import { percent, signed } from "../../ui/format.js";
import { attentionWords, headShort } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { nameNodes } from "../../ui/token_text.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Model } from "../../model/description.js"
 * @import { Token } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Child } from "../../ui/dom.js"
 * @import { Actions } from "../view.js"
 */

/**
 * @typedef {Object} Bars  the numbers of a line
 * @property {ArrayLike<number>} values
 * @property {"q"|"k"|"v"|"signed"} look  the colour of a role, or of what is above and below zero
 * @property {number} [most]  the value of the longest bar, if it is not among them
 * @property {number} [chosen]  the bar that the card is about
 * @property {ArrayLike<number>} [was]  the bars before an edit, as outlines
 *
 * @typedef {Object} Line
 * @property {string} name  `data-line`
 * @property {Child} label
 * @property {Bars} [bars] @property {Child} [words] @property {number} [share]  between label and number: one of these
 * @property {number|null} [was]  the share before an edit, as an outline
 * @property {Child} [output]  the number
 * @property {boolean} [lit]  the open step is about it @property {boolean} [same]  of what changed, it did not
 *
 * @typedef {{query: Child, key: Child, where: string, value: string, was?: string|null, both?: string|null}} Head  `both`: the value before and after, whose difference `value` is
 */

/** A name as the page writes it; nodes stay. @param {Child} name */
const nodesOf = (name) => (typeof name === "string" ? nameNodes(name) : name);

/** What the picture calls a token: as it is read, numbered where it comes again. @param {Token[]} tokens @param {number} index */
export const nameIn = (tokens, index) => namesIn(tokens)[index];

/** The open head: "head 5·5", with its attention if the model has several. @param {Model} model @param {State} state */
export const whereOf = (model, { attention, layer, head }) =>
  [attentionWords(model, attention), t("card.head", { layer, head })].filter(Boolean).join(" · ");

/** "q red₂": a letter, and the token whose it is in the colour of its role. @param {string} letter @param {string} name @param {string} role */
export const labelOf = (letter, name, role) => [
  letter,
  " ",
  h("span", { class: `card-token ${role}`, translate: "no" }, nodesOf(name)),
];

// Below the card: what feeds the open head, a question for path patching; in the difference, what changed most in the row.

/** What a head receives with. */
const RECEIVES = /** @type {const} */ (["q", "k", "v"]);

const feedsOf = perRoot((root) => {
  const asks = h("span", { class: "card-asks" });
  const element = h("p", { class: "card-feeds", dataset: { testid: "feeds" } }, phrase("card.feeds", { roles: asks }));
  const changed = h("p", { class: "card-feeds", dataset: { testid: "row-moved" } });
  const gist = h("button", { class: "link card-gist", type: "button", dataset: { testid: "gist" } });
  gist.onclick = () => {
    const panel = /** @type {HTMLElement|null|undefined} */ (
      root.closest(".main")?.querySelector("[data-panel=compare]")
    );
    panel?.scrollIntoView();
    if (panel) panel.tabIndex = -1;
    panel?.focus({ preventScroll: true });
  };
  const all = h("p", { class: "card-all" }, gist);
  root.append(all, element, changed);
  return { element, asks, changed, all, gist };
});

/**
 * What changed, or "Where q k v come from": each opens the paths that lead there, with a second sentence that the model answers otherwise.
 * @param {HTMLElement} root @param {ModelTrace} trace @param {State} state @param {Actions} actions @param {Child} change  null: none is shown
 */
export function drawFoot(root, trace, state, actions, change) {
  const { element, asks, changed, all, gist } = feedsOf(root);
  const { model, attention } = trace;
  const roles = RECEIVES.filter((role) => canPut(model, attention, role));
  const most = isDifference(state) ? gistOf(trace) : null;
  all.hidden = most === null;
  setText(gist, most ?? "");
  changed.hidden = change === null;
  replaceChanged(changed, change);
  element.hidden =
    change !== null || !roles.length || !can(model, "ablations") || state.file !== null || state.lesson !== null;
  if (element.hidden) return;
  const ask = (/** @type {typeof RECEIVES[number]} */ role) => {
    const { source } = rankState.of(actions.get());
    const other = source || (otherSentence(trace, state)?.text ?? "");
    actions.set({ drawer: "rank", ...rankState.patch({ shows: "patch", path: role, source: other, height: "auto" }) });
  };
  const button = (/** @type {typeof RECEIVES[number]} */ role) => {
    const about = t("card.feeds_about", { role, head: whereOf(model, state) });
    const data = { testid: `feeds-${role}`, focus: `feeds ${role}` };
    const attrs = { class: `btn ${role}`, type: "button", title: about, "aria-label": about, dataset: data };
    return h("button", { ...attrs, on: { click: () => ask(role) } }, role);
  };
  keepingFocus(asks, () => replace(asks, ...roles.map(button)));
}

/** Of all heads the one whose weights changed most; the rest stands below (views/compare/). null: not here. @param {ModelTrace} trace */
function gistOf(trace) {
  const changes = changesOf(trace);
  if (!changes?.length) return null;
  const most = changes.reduce((best, one) => (one.moved > best.moved ? one : best));
  const moved = percent(most.moved, 0);
  if (most.moved < ROUNDING) return t("compare.gist_none");
  return most.moved < LEAST
    ? t("compare.gist_little")
    : t("compare.gist", { head: headShort(trace.model, most), moved });
}

/** A smaller change is written as 0 %; one of this size is rounding. */
const [LEAST, ROUNDING] = [0.005, 1e-6];

/** Half the height of a picture of bars, in its units; a bar is 1 wide. */
const REACH = 50;

const partsOf = perRoot((root) => {
  const title = h("p", { class: "card-title" });
  const list = h("div", { class: "card-lines" });
  const page = root.closest(".main");
  if (page) new ResizeObserver(() => fit(root)).observe(page); // what is above it may change
  addEventListener("resize", () => root.isConnected && fit(root));
  root.append(title, list);
  return { title, list, lines: /** @type {ReturnType<typeof makeLine>[]} */ ([]), drawn: "" };
});

/** @param {HTMLElement} root @param {Head} head @param {Line[]} lines */
export function drawCard(root, { query, key, where, value, was = null, both = null }, lines) {
  const parts = partsOf(root);
  replaceChanged(
    parts.title,
    h("b", { class: "q", translate: "no" }, nodesOf(query)),
    " ← ",
    h("b", { class: "k", translate: "no" }, nodesOf(key)),
    h("small", null, where),
    was !== null &&
      h("s", { class: "mono card-was", title: t("card.was"), dataset: { testid: "arithmetic-was" } }, was),
    both !== null && h("span", { class: "mono card-both" }, both),
    h("b", { class: "mono card-value", dataset: { testid: "arithmetic-value" } }, value),
  );
  const drawn = lines.map(({ name, bars }) => name + (bars ? "|" : "")).join();
  if (drawn !== parts.drawn) {
    parts.lines = lines.map(makeLine);
    replace(
      parts.list,
      parts.lines.map(({ element }) => element),
    );
  }
  parts.drawn = drawn;
  parts.list.classList.toggle("gap", both !== null);
  lines.forEach((line, i) => showLine(parts.lines[i], line));
  fit(root);
}

/** The height of bars, in pixels: lower ones leave out those of q and k; and of what is below the card. */
const [LOW, FEW, HIGH, BELOW] = [14, 28, 56, 28];

/** Makes the bars so high that all is seen without scrolling. @param {HTMLElement} root */
const fit = (root) =>
  measured(
    () => barHeight(root),
    (found) =>
      found &&
      update(root, { class: found.brief ? "arithmetic brief" : "arithmetic", style: { "--bar": `${found.bar}px` } }),
  );

/** null: it is hidden, or the page scrolls anyway. @param {HTMLElement} root */
function barHeight(root) {
  const { top, height } = root.getBoundingClientRect();
  if (height === 0 || inOneColumn()) return null;
  const lines = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(".card-line:has(.card-bars)")]);
  const column = root.closest(".right");
  const shifted = column ? top - column.getBoundingClientRect().top : 0;
  const from = column ? unscrolled(column) : top;
  const rest = height - lines.reduce((all, line) => all + line.offsetHeight, 0);
  const room = innerHeight - Math.max(0, from + scrollY) - shifted - rest - BELOW;
  const heightOf = (/** @type {number} */ n) =>
    Math.floor(Math.max(LOW, Math.min(HIGH, room / Math.max(1, n) - AROUND)));
  const vectors = lines.filter(({ dataset }) => ["q", "k"].includes(dataset.line ?? "")).length;
  const brief = heightOf(lines.length) < FEW;
  return { brief, bar: heightOf(lines.length - (brief ? vectors : 0)) };
}

/** Where a column begins: as high as what stands beside it, for it stays in view while the page scrolls. @param {Element} column */
function unscrolled(column) {
  const own = column.getBoundingClientRect();
  const beside = column.previousElementSibling?.getBoundingClientRect();
  return beside?.height && beside.right <= own.left ? beside.top : own.top;
}

/** Of the height of a line, what is not its bars. */
const AROUND = 6;

/** @param {Line} line */
function makeLine({ name, bars, share }) {
  const [label, middle] = [h("b", { class: "card-label" }), h("span", { class: "card-middle" })];
  const output = h("output", { class: "mono" });
  const element = h("div", { class: "card-line", dataset: { line: name } }, label, middle, output);
  const parts = { element, label, middle, output, shown: /** @type {Line|null} */ (null) };
  if (bars) return { ...parts, picture: barsIn(middle, output), meter: null };
  if (share === undefined) return { ...parts, picture: null, meter: null };
  const meter = { now: h("i"), was: h("i", { class: "was", hidden: true }) };
  middle.append(h("span", { class: "card-meter", "aria-hidden": true }, meter.now, meter.was));
  return { ...parts, picture: null, meter };
}

/** @param {ReturnType<typeof makeLine>} parts @param {Line} line */
function showLine(
  { element, label, middle, output, picture, meter },
  { bars, words, share = 0, was = null, lit = false, same = false, ...line },
) {
  element.classList.toggle("lit", lit);
  element.classList.toggle("same", same);
  replaceChanged(label, line.label);
  replaceChanged(output, line.output ?? "");
  if (picture && bars) picture.show(bars);
  else if (meter) showMeter(meter, share, was);
  else replaceChanged(middle, words ?? "");
}

/** @param {{now: HTMLElement, was: HTMLElement}} meter @param {number} share @param {number|null} before */
function showMeter({ now, was }, share, before) {
  const width = (/** @type {number} */ part) => `${100 * Math.min(1, Math.max(0, part))}%`;
  update(now, { style: { width: width(share) } });
  update(was, { hidden: before === null, style: { width: width(before ?? 0) } });
}

/** Bars whose number is shown in the place of the line's while the pointer is over one. @param {HTMLElement} middle @param {HTMLElement} output */
function barsIn(middle, output) {
  const [up, down, at, before] = ["up", "down", "at", "was"].map((name) => svg("path", { class: name }));
  const picture = svg("svg", { preserveAspectRatio: "none", "aria-hidden": true }, up, down, at, before);
  const said = h("span", { class: "card-said", hidden: true });
  middle.append(picture);
  let values = /** @type {ArrayLike<number>} */ ([]);
  picture.addEventListener("pointermove", ({ clientX }) => {
    const { left, width } = picture.getBoundingClientRect();
    const d = Math.max(0, Math.min(values.length - 1, Math.floor(((clientX - left) / width) * values.length)));
    if (!said.isConnected) output.after(said);
    output.hidden = true;
    said.hidden = false;
    setText(said, `${d}: ${signed(values[d], 3)}`);
  });
  picture.addEventListener("pointerleave", () => {
    output.hidden = false;
    said.hidden = true;
  });
  return {
    /** @param {Bars} bars */
    show({ values: shown, look, most = 0, chosen, was }) {
      values = shown;
      const all = Array.from(shown);
      const old = Array.from(was ?? []);
      const long = Math.max(most, ...all.map(Math.abs), ...old.map(Math.abs)) || 1;
      const below = [...all, ...old].some((one) => one < 0);
      const unit = (below ? REACH : 2 * REACH) / long;
      const bar = (/** @type {number} */ i, of = all) => `M${i + 0.1} 0v${(-of[i] * unit).toFixed(2)}h.8V0z`;
      const path = (/** @type {(i: number) => boolean} */ yes) => all.map((_, i) => (yes(i) ? bar(i) : "")).join("");
      update(picture, {
        class: `card-bars ${look}`,
        viewBox: below ? `0 ${-REACH} ${all.length} ${2 * REACH}` : `0 ${-2 * REACH} ${all.length} ${2 * REACH}`,
      });
      update(up, { d: path((i) => all[i] >= 0 && i !== chosen) });
      update(down, { d: path((i) => all[i] < 0 && i !== chosen) });
      update(at, { d: path((i) => i === chosen) });
      update(before, { d: old.map((one, i) => (Math.abs(one - all[i]) > long / 50 ? bar(i, old) : "")).join("") });
    },
  };
}
