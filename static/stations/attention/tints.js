/** The reasons of a mask as colours over the hatching, and their legend. */

import { cssColour } from "../../chart/theme.js";
import { h } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { REASONS } from "../query_key.js";

/** Of two reasons, the last one's shows. The causal mask is the hatching alone. */
const TINTS = { causal: null, padding: "--warn", window: "--k", edited: "--accent" };

/** @param {number} reasons  a set, bit by bit */
const namesOf = (reasons) => Object.keys(REASONS).filter((name) => reasons & REASONS[name]);

/** Two reasons are darker than one. @param {number} reasons */
function tintOf(reasons) {
  const names = namesOf(reasons);
  const tint = TINTS[names.findLast((name) => TINTS[name]) ?? ""];
  return tint ? `${cssColour(tint)}${names.length > 1 ? "8c" : "40"}` : `${cssColour("--panel")}00`;
}

/** By set of reasons. @returns {string[]} "#rrggbbaa" */
export const tints = () => Array.from({ length: 16 }, (_, reasons) => tintOf(reasons));

/** Each set of reasons that occurs, with what it adds to a score. @param {Uint8Array} mask */
export function reasonsLegend(mask) {
  const sets = [...new Set(mask)].filter(Boolean).sort((a, b) => a - b);
  const words = (set) =>
    namesOf(set)
      .map((name) => t(`matrix.mask.${name}`))
      .join(" + ");
  return sets.map((set) => [
    h("span", { class: "swatch", style: { "background-color": tintOf(set) } }),
    h("span", null, words(set), " ", h("b", { class: "mono" }, "+ −∞")),
  ]);
}
