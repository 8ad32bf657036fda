/** The label of the open head in the title bar of every station that shows it. */

import { h, setText } from "./dom.js";

/** A chip for a title bar; empty until it is set. */
export const headChip = () => h("span", { class: "role head-chip", hidden: true, dataset: { testid: "head-chip" } });

/**
 * @param {HTMLElement} page  the page with the chips
 * @param {string} words  "" if no label fits @param {string} [title]
 */
export function setHeadChips(page, words, title = "") {
  for (const chip of /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll(".head-chip"))) {
    chip.hidden = words === "";
    chip.title = title;
    setText(chip, words);
  }
}
