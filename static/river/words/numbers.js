/** How the river writes its numbers. */

import { number, percent } from "../../ui/format.js";

/** @import { Bead } from "../layout/layout.js" */

/** Whole percents, where they say enough. @param {number} p */
export const share = (p) => percent(p, p < 0.095 || (p > 0.995 && p < 1) ? 1 : 0);

/** A share between these: one number where both are written alike, otherwise "92–93 %". @param {{low: number, high: number}} between */
export function shareBetween({ low, high }) {
  const [least, most] = [share(low), share(high)];
  return least === most ? most : `${least.replace(/\s*%$/, "")}–${most}`;
}

/** How long what an FFN adds is, as a multiple of what was there. @param {Bead} bead */
export const times = ({ ratio }) => number(ratio, 2);
