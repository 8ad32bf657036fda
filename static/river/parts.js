/** The elements of the river's panel. */

import { h, newId, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";

/** @param {HTMLElement} root */
export function buildParts(root) {
  const about = h("p", { class: "river-about dim" });
  const says = h("p", { class: "says", "aria-live": "polite", dataset: { testid: "river-says" } });
  const readout = h("p", {
    class: "sr-only",
    id: newId("river-readout"),
    "aria-live": "polite",
    dataset: { testid: "river-readout" },
  });
  const canvas = h("canvas", {
    ...{ tabindex: 0, role: "application", "aria-label": t("river.picture"), "aria-describedby": readout.id },
    dataset: { testid: "river" },
  });
  const tip = h("div", { class: "river-tip", hidden: true, "aria-hidden": "true" });
  const box = h("div", { class: "board" }, canvas, tip, readout);
  const legend = h("span", { class: "dim", dataset: { testid: "river-legend" } });
  const table = h("div");
  replace(root, about, says, box, h("div", { class: "foot" }, legend), table);
  return { about, says, table, legend, board: { box, canvas, tip, readout } };
}
