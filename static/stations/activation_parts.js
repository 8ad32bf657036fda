/**
 * The building blocks of the activation stations: a part with its own heading, bars with numbers.
 */

import { h, keepingFocus, perRoot, replace, setText } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { drawFormula } from "./station.js";

/**
 * A part of a station: a heading with room for tools, a line of words, a picture, and words below it.
 * @param {string} name  for `data-part`
 */
export function part(name) {
  const [title, about, tools] = [h("h2", null), h("p", { class: "dim about" }), h("div", { class: "tools" })];
  const [place, said] = [h("div", { class: "place" }), h("p", { class: "said" })];
  const head = h("div", { class: "act-head" }, title, h("span", { class: "grow" }), tools);
  const element = h("section", { class: "act", dataset: { part: name } }, head, about, place, said);
  return { element, title, about, tools, place, said };
}

/** Its heading and text. @param {ReturnType<typeof part>} one @param {any} title @param {any} about */
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
  const inside = [h("span", { class: "name mono" }, name), track, h("span", { class: "mono value" }, value)];
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
  const [formula, body] = [h("div", { class: "formula" }), h("div", { class: "station-body" })];
  root.append(h("div", { class: "bar" }, title, h("span", { class: "grow" }), tools), formula, body);
  return { title, tools, formula, body };
}

/** Its title and what is in its strip. @param {any} parts @param {string} title @param {{formula: any, note: any, legend?: any}} content */
export function drawStrip(parts, title, content) {
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
