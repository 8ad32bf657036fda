/** The fixed parts of a station without a head: its title, its tools, the strip with the formula, and its picture. */

import { h } from "../ui/dom.js";

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
