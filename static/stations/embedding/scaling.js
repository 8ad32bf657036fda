/** What the tap "embedding" holds: with √d_model in it where the model multiplies its embeddings (Vaswani et al. 2017, section 3.4). */

import { t } from "../../ui/i18n.js";

/**
 * How E[id] was got from the tap, if it is not the tap; a file of an unknown model may not say.
 * @param {any} model @returns {string|null}
 */
export function scalingWords({ scale_embeddings: scales }) {
  if (scales === undefined) return t("embedding.scaling_unknown");
  return scales ? t("embedding.scaling") : null;
}
