/** Parts of a table. */

import { h } from "./dom.js";

/** The head: a row of column names. @param {(string|Node)[]} names */
export const tableHead = (names) =>
  h(
    "thead",
    null,
    h(
      "tr",
      null,
      names.map((name) => h("th", { scope: "col" }, name)),
    ),
  );

/** A table that may be wider than a phone: it scrolls by itself, by keyboard too. @param {string} label @param {Node} [table] */
export const scrolling = (label, table) =>
  h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);

/** A cell with a share, 0 to 1, as a bar behind its words. @param {number} share @param {string} words */
export const shareCell = (share, words) =>
  h("td", null, h("span", { class: "share-bar", "aria-hidden": true, style: { "--share": share } }), words);
