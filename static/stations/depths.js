/** The depths at which a stream is read: before the first layer, and after each. */

import { t } from "../ui/i18n.js";

/** @type {Map<string, string[]>} the same array for the same words, so that a picture is not redrawn */
const known = new Map();

/** "X", "layer 0", … @param {number} count  depths: one more than there are layers @returns {string[]} */
export function depthLabels(count) {
  const labels = Array.from({ length: count }, (_, depth) =>
    depth === 0 ? t("lens.depth_in") : t("lens.depth", { layer: depth - 1 }),
  );
  const key = labels.join("\n");
  if (!known.has(key)) known.set(key, labels);
  return /** @type {string[]} */ (known.get(key));
}

/** The same in a sentence: "before layer 0", "after layer 3". @param {number} depth */
export const depthWords = (depth) => (depth === 0 ? t("lens.before") : t("lens.after", { layer: depth - 1 }));
