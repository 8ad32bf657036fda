/** The left column: the heads with their names, and the masks. On a phone, the masks stand right below the open picture. */

import { h, newId } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/** @param {HTMLElement[]} panels  between the heads and the masks */
export function buildSide(panels) {
  const hint = h("span", { class: "dim" }, t("heads.hint"));
  const parts = {
    headsTitle: h("h2", { id: newId("heads-title") }, t("heads.title"), " ", hint),
    heads: h("div", { dataset: { control: "heads" } }),
    masksTitle: h("summary", null, h("h2", { id: newId("masks-title") }, t("masks.title"))),
    masksQuiz: h("div"),
    masks: h("div", { dataset: { control: "masks" } }),
  };
  const { headsTitle, heads, ...masks } = parts;
  const masksFold = h("details", { class: "fold", dataset: { testid: "fold-masks" } }, Object.values(masks));
  const element = h(
    "aside",
    { class: "panel side" },
    h("div", { class: "side-heads" }, headsTitle, heads, panels),
    masksFold,
  );
  return { element, masksFold, ...parts };
}
