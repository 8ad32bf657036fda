/** The places of the panels, according to their `frame`s. */

import { h } from "../ui/dom.js";
import { t } from "../ui/i18n.js";

/**
 * @import { Panel } from "../stations/view.js"
 * @import { Frame } from "./frame.js"
 */

/**
 * An element for each panel: by its id, and the panels of each place in their order.
 * @template T
 * @param {Panel[]} panels @param {(panel: Panel) => T} build
 * @returns {{byId: Object<string, T>, at: Record<"sentence"|"side"|"home"|"top"|"right"|"below"|"foot", T[]>}}
 */
export function placed(panels, build) {
  /** @type {Object<string, T>} */
  const byId = Object.fromEntries(panels.map((panel) => [panel.id, build(panel)]));
  /** @param {string} place */
  const at = (place) => panels.filter(({ frame }) => frame.place === place).map(({ id }) => byId[id]);
  return {
    byId,
    at: {
      sentence: at("sentence"),
      side: at("side"),
      home: at("home"),
      top: at("top"),
      right: at("right"),
      below: at("below"),
      foot: at("foot"),
    },
  };
}

/** Its empty element. A panel without a title is part of another one. @param {Panel} panel @param {boolean} [second]  of a page beside another @returns {HTMLElement} */
export function panelElement({ id, shown, frame: { className, title } }, second = false) {
  const attrs = { class: className, dataset: { panel: id }, hidden: Boolean(shown) };
  return title
    ? h("section", { ...attrs, "aria-label": second ? t("beside.in_other", { title: t(title) }) : t(title) })
    : h("div", attrs);
}

/** Where what is shown begins: at the open station, or at the river where there is nothing else. @param {Frame} frame @returns {HTMLElement} */
export const subjectOf = ({ body, main, opened }) => (body.hidden ? main : opened);
