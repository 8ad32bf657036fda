/** The fixed parts of a station without a head (title, tools, strip, picture), and what every station writes into its strip. */

import { h, replace } from "../ui/dom.js";

/** @param {HTMLElement} root @param {string} title @param {...Node} tools */
export function buildPlainStation(root, title, ...tools) {
  const formula = h("div", { class: "formula" });
  const body = h("div", { class: "station-body" });
  const bar = h(
    "div",
    { class: "bar" },
    h("h1", null, title),
    h("span", { class: "grow" }),
    h("div", { class: "tools" }, tools),
  );
  root.append(bar, formula, body);
  return { formula, body };
}

/**
 * Draws the strip above a picture.
 * @param {Element} strip @param {{formula: any, note: any, legend?: any}} content
 */
export function drawFormula(strip, { formula, note, legend = null }) {
  const [formulas, words] = [h("span", { class: "formulas" }, formula), h("span", { class: "dim" }, note)];
  replace(strip, formulas, words, h("span", { class: "grow" }), legend);
}
