/** The label of the open head in the title bar of every station that shows it. */

import { h, setText } from "./dom.js";

/** @type {HTMLElement[]} */
const chips = [];

/** A chip for a title bar; empty until it is set. */
export function headChip() {
  const chip = h("span", { class: "role", hidden: true, dataset: { testid: "head-chip" } });
  chips.push(chip);
  return chip;
}

/**
 * @param {HTMLElement} page  the page with the chips
 * @param {string} words  "" if no label fits @param {string} [title]
 */
export function setHeadChips(page, words, title = "") {
  for (const chip of chips.filter((one) => page.contains(one))) {
    chip.hidden = words === "";
    chip.title = title;
    setText(chip, words);
  }
}
