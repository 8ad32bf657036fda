/** The elements of the river's panel. */

import { h, newId, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";

/** @typedef {ReturnType<typeof buildBoard>} BoardParts */

/** @param {HTMLElement} root */
export function buildParts(root) {
  const about = h("p", { class: "river-about dim" });
  const says = h("p", { class: "says", "aria-live": "polite", dataset: { testid: "river-says" } });
  const board = buildBoard();
  const legend = h("span", { class: "dim", dataset: { testid: "river-legend" } });
  const restore = h("button", { class: "btn", type: "button", hidden: true, dataset: { testid: "river-restore" } });
  const table = h("div");
  replace(root, about, says, board.box, h("div", { class: "foot" }, restore, legend), table);
  return { about, says, table, legend, restore, board };
}

function buildBoard() {
  const attrs = { class: "sr-only", id: newId("river-readout"), "aria-live": "polite" };
  const readout = h("p", { ...attrs, dataset: { testid: "river-readout" } });
  const canvas = h("canvas", {
    ...{ tabindex: 0, role: "application", "aria-label": t("river.picture"), "aria-describedby": readout.id },
    dataset: { testid: "river" },
  });
  const tip = h("div", { class: "river-tip", hidden: true, "aria-hidden": "true" });
  // Keys do the same (Shift + Delete): this is for pointers.
  const scissors = h(
    "button",
    {
      class: "scissors",
      type: "button",
      tabindex: -1,
      hidden: true,
      "aria-hidden": "true",
      title: t("river.scissors"),
    },
    "✂",
  );
  return { box: h("div", { class: "board" }, canvas, tip, scissors, readout), canvas, tip, scissors, readout };
}
