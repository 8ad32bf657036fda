/** How high a picture may be, so that it is whole in its window. */

import { inOneColumn } from "../ui/reveal.js";

/** Below it: the readout and the panel's edge. */
const BELOW = 52;

/** Above an open head of the river: the way back, which stays in sight. */
const WAY_BACK = 34;

/**
 * The heights that a picture may have, the best first: what is left of the window under it before anyone scrolls, and
 * what is left with its panel at the top, and the window's: far down in a long panel, as on a phone, nothing else is enough.
 * On a phone everybody scrolls: there, what is left before does not count.
 * @param {Element} frame  its place
 */
export function heightsFor(frame) {
  const { top } = frame.getBoundingClientRect();
  const panel = frame.closest(".panel");
  const page = frame.closest(".in-lesson"); // its bar covers the end of the window
  const bottom = innerHeight - (page ? parseFloat(getComputedStyle(page).paddingBottom) : 0);
  const inPanel = panel ? top - panel.getBoundingClientRect().top + panel.scrollTop : 0;
  const above = frame.closest(".river-zoom") ? WAY_BACK : 0;
  const heights = [bottom - (top + scrollY), bottom - inPanel, bottom - above].map((height) => height - BELOW);
  return inOneColumn() ? [heights[1], ...heights.slice(1)] : heights;
}
