/** The left column: the heads with their names, and the masks. */

import { h, newId } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

export function buildSide() {
  const hint = h("span", { class: "dim" }, t("heads.hint"));
  const parts = {
    headsTitle: h("h2", { id: newId("heads-title") }, t("heads.title"), " ", hint),
    heads: h("div", { dataset: { control: "heads" } }),
    labels: h("div", { class: "labels", dataset: { panel: "labels" } }),
    masksTitle: h("h2", { id: newId("masks-title") }, t("masks.title")),
    masksQuiz: h("div"),
    masks: h("div", { dataset: { control: "masks" } }),
  };
  return { element: h("aside", { class: "panel side" }, Object.values(parts)), ...parts };
}
