/** The two tabs: the probabilities of the next token, and the answer by layer. No DOM. */

import { lazily } from "../../data/lazily.js";
import { can, fillsGaps, predictsTokens } from "../../model/description.js";
import { own } from "./own.js";

/** @import { OwnValues } from "../../state/own.js" */

/** @typedef {"token"|"layers"} Tab */

/** A classifier's classes have a panel of their own. @param {any} model @returns {Tab[]} */
export const tabsOf = (model) => [
  ...(predictsTokens(model) ? [/** @type {const} */ ("token")] : []),
  ...(can(model, "lens") && !fillsGaps(model) ? [/** @type {const} */ ("layers")] : []),
];

/** The open one. @param {{own: OwnValues}} state @param {any} model @returns {Tab} */
export function tabOf(state, model) {
  const { tab } = own.of(state);
  return tabsOf(model).includes(tab) ? tab : (tabsOf(model)[0] ?? tab);
}

/** Each tab's code is loaded when it is first shown. */
export const TABS = {
  token: lazily(() => import("./token.js")),
  layers: lazily(() => import("./layers/draw.js")),
};
