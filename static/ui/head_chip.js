/** The label of the open head, as it stands in the title bar of every station that shows that head. */

import { h, setText } from "./dom.js";

let label = "";
let about = "";

/** @type {HTMLElement[]} */
const chips = [];

/** A chip for a title bar: it says what is known of the open head, and later what becomes known. */
export function headChip() {
  const chip = h("span", { class: "role", dataset: { testid: "head-chip" } });
  chips.push(chip);
  show(chip);
  return chip;
}

/** @param {string} words  "" where no label fits @param {string} [title] */
export function setHeadChips(words, title = "") {
  [label, about] = [words, title];
  chips.forEach(show);
}

/** @param {HTMLElement} chip */
function show(chip) {
  chip.hidden = label === "";
  chip.title = about;
  setText(chip, label);
}
