/** What the stations of the open head share: the title bar, and the strip with formula and legend. */

import { h, setText } from "../ui/dom.js";
import { headChip, headTitle } from "../ui/heads.js";
import { drawFormula } from "./station.js";

/** @import { State } from "../state/store.js" */

/**
 * The fixed parts of a station, in their order.
 * @param {HTMLElement} root
 */
export function buildStation(root) {
  const title = h("h1", { dataset: { testid: "opened-title" } });
  const tools = h("div", { class: "tools" });
  const formula = h("div", { class: "formula" });
  const body = h("div", { class: "station-body" });
  root.append(h("div", { class: "bar" }, title, headChip(), h("span", { class: "grow" }), tools), formula, body);
  return { title, tools, formula, body };
}

/**
 * Title, formula and legend of what is drawn now.
 * @param {ReturnType<typeof buildStation>} parts
 * @param {any} model @param {State} state
 * @param {{formula: Node[], note: string, legend?: Node|null}} strip
 */
export function drawHead(parts, model, state, strip) {
  setText(parts.title, headTitle(model, state));
  drawFormula(parts.formula, strip);
}
