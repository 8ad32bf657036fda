/**
 * What the tap "embedding" is: multiplied by √d_model if the model scales its embeddings (Vaswani et al. 2017,
 * section 3.4).
 */

import { t } from "../../ui/i18n.js";

/** @import { Stack } from "../../model/description.js" */

/**
 * How E[id] follows from the tap, if they differ; a file of an unknown model may not say.
 * @param {Stack} stack @returns {string|null}
 */
export function scalingWords(stack) {
  if (stack.embedding.scale === null) return t("embedding.scaling_unknown");
  return isScaled(stack) ? t("embedding.scaling") : null;
}

/** @param {Stack} stack */
export const isScaled = ({ embedding: { scale } }) => scale !== null && scale !== 1;
