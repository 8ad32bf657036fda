/**
 * The building blocks of the activation stations: a part with its own heading, bars with numbers.
 */

import { h, keepingFocus, perRoot, replace, setText } from "../ui/dom.js";
import { headChip, headTitle } from "../ui/heads.js";
import { t } from "../ui/i18n.js";
import { boxedText } from "../ui/token_text.js";

/**
 * @import { Model } from "../model/description.js"
 * @import { State } from "../state/store.js"
 */

// The depths at which a stream is read: before the first layer, and after each.

/** @type {Map<string, string[]>} the same array for the same words, so that a picture is not redrawn */
const known = new Map();

/** "X", "layer 0", … @param {number} count  depths: one more than there are layers @returns {string[]} */
export function depthLabels(count) {
  const labels = Array.from({ length: count }, (_, depth) =>
    depth === 0 ? t("lens.depth_in") : t("lens.depth", { layer: depth - 1 }),
  );
  const key = labels.join("\n");
  if (!known.has(key)) known.set(key, labels);
  return /** @type {string[]} */ (known.get(key));
}

/** The same in a sentence: "before layer 0", "after layer 3". @param {number} depth */
export const depthWords = (depth) => (depth === 0 ? t("lens.before") : t("lens.after", { layer: depth - 1 }));

// The fixed parts of a station: title and tools, the picture, and below it the formula and what it shows in words.

/** @param {Element} root @param {HTMLElement} bar */
export function buildParts(root, bar) {
  const body = h("div", { class: "station-body" });
  const formula = h("div", { class: "formula" });
  const reading = h("div", { dataset: { place: "reading" } });
  root.append(bar, body, formula, reading);
  return { formula, body, reading };
}

/** A station without a head. @param {HTMLElement} root @param {string} title @param {...Node} tools */
export function buildPlainStation(root, title, ...tools) {
  const bar = h(
    "div",
    { class: "bar" },
    h("h1", null, title),
    h("span", { class: "grow" }),
    h("div", { class: "tools" }, tools),
  );
  return buildParts(root, bar);
}

/**
 * Draws the strip below a picture.
 * @param {Element} strip @param {{formula: any, note: any, legend?: any}} content
 */
export function drawFormula(strip, { formula, note, legend = null }) {
  const [formulas, words] = [h("span", { class: "formulas" }, formula), h("span", { class: "dim" }, note)];
  replace(strip, formulas, words, h("span", { class: "grow" }), legend);
}

/** A station of the open head. @param {HTMLElement} root */
export function buildStation(root) {
  const title = h("h1", { dataset: { testid: "opened-title" } });
  const tools = h("div", { class: "tools" });
  const bar = h("div", { class: "bar" }, title, headChip(), h("span", { class: "grow" }), tools);
  return { title, tools, ...buildParts(root, bar) };
}

/**
 * Title, formula and legend of what is drawn now.
 * @param {ReturnType<typeof buildStation>} parts
 * @param {Model} model @param {State} state
 * @param {{formula: Node[], note: string, legend?: Node|null}} strip
 */
export function drawHead(parts, model, state, strip) {
  setText(parts.title, headTitle(model, state));
  drawFormula(parts.formula, strip);
}

/**
 * A part of a station: a heading with room for tools, a picture, and words below it.
 * @param {string} name  for `data-part`
 */
export function part(name) {
  const [title, about, tools] = [h("h2", null), h("p", { class: "dim about" }), h("div", { class: "tools" })];
  const [place, said] = [h("div", { class: "place" }), h("p", { class: "said" })];
  const head = h("div", { class: "act-head" }, title, h("span", { class: "grow" }), tools);
  const element = h("section", { class: "act", dataset: { part: name } }, head, place, about, said);
  return { element, title, about, tools, place, said };
}

/** A part that is folded until it is wanted. @param {string} name */
export function foldedPart(name) {
  const one = part(name);
  const { title, tools, place, about, said } = one;
  const attrs = { class: "act fold", dataset: { part: name } };
  return { ...one, element: h("details", attrs, h("summary", null, title), tools, place, about, said) };
}

/** @typedef {Omit<ReturnType<typeof part>, "element"> & {element: HTMLElement}} Part */

/** Its heading and text. @param {Part} one @param {any} title @param {any} about */
export function nameOfPart(one, title, about) {
  replace(one.title, title);
  replace(one.about, about);
  one.about.hidden = !about;
}

/**
 * @typedef {Object} Bar
 * @property {string} id  for the keyboard's place
 * @property {any} name
 * @property {number} share  of the longest bar, 0 to 1
 * @property {string} value  the number beside it
 * @property {string} words  the bar in words, with its digits
 * @property {boolean} [chosen]
 * @property {string} [role]  whose colour the bar has
 * @property {() => void} [onChoose]
 */

/**
 * Numbers as bars, longest first; each is a button if it can be chosen.
 * @param {HTMLElement} root @param {{label: string, bars: Bar[]}} list
 */
export function drawBarList(root, { label, bars }) {
  keepingFocus(root, () => replace(root, h("ol", { class: "bar-list", "aria-label": label }, bars.map(barOf))));
}

/** @param {Bar} bar */
function barOf({ id, name, share, value, words, chosen, role, onChoose }) {
  const track = h(
    "span",
    { class: `track ${role ?? ""}`, "aria-hidden": true },
    h("span", { style: { width: `${(share * 100).toFixed(2)}%` } }),
  );
  const inside = [
    h("span", { class: "name mono" }, typeof name === "string" ? boxedText(name) : name),
    track,
    h("span", { class: "mono value" }, value),
  ];
  const data = { focus: id, testid: "bar", id };
  if (!onChoose) return h("li", null, h("span", { class: "bar-row", title: words, dataset: data }, inside));
  const attrs = {
    type: "button",
    class: "bar-row",
    title: words,
    "aria-label": words,
    "aria-pressed": Boolean(chosen),
    dataset: data,
  };
  return h("li", null, h("button", { ...attrs, on: { click: onChoose } }, inside));
}

/** The fixed parts of a station that does not show one head. @param {Element} root */
export function buildLayerStation(root) {
  const [title, tools] = [h("h1", { dataset: { testid: "opened-title" } }), h("div", { class: "tools" })];
  const bar = h("div", { class: "bar" }, title, h("span", { class: "grow" }), tools);
  return { title, tools, ...buildParts(root, bar) };
}

/** Its title and what is in its strip. @param {any} parts @param {string} title @param {{formula: any, note: any, legend?: any}} content */
export function drawStationStrip(parts, title, content) {
  setText(parts.title, title);
  drawFormula(parts.formula, content);
}

const foldOf = perRoot((root) => {
  const content = h("div", null);
  root.append(
    h("details", { class: "folded", dataset: { testid: "folded" } }, h("summary", null, t("table.open")), content),
  );
  return content;
});

/** A table behind a disclosure, which stays as the reader left it. @param {HTMLElement} root @param {Node} table */
export const drawFolded = (root, table) => replace(foldOf(root), table);
