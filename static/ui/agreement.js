/** Whether a number recomputed in the browser agrees with the model's own. */

import { h } from "./dom.js";
import { significant } from "./format.js";
import { t } from "./i18n.js";

/** The tolerance for float32 sums in another order; relative above 1. */
export const TOLERANCE = 1e-5;

/** @param {number} ours @param {number} model */
export function agrees(ours, model) {
  return Math.abs(ours - model) <= TOLERANCE * Math.max(1, Math.abs(ours), Math.abs(model));
}

/**
 * "the model's own tensor says 0.6382 ✓", or a warning with the difference.
 * @param {number} ours  recomputed in the browser @param {number} model  from the model's tensor
 * @param {(value: number) => string} [format]  with as many digits as the number beside it
 */
export function checkOf(ours, model, format = significant) {
  const ok = agrees(ours, model);
  const vars = { value: format(model), difference: significant(Math.abs(ours - model), 2) };
  const data = { testid: "check", ours, model, agrees: ok };
  const title = t("inspector.tolerance");
  return h(
    "span",
    { class: ok ? "check" : "check bad", title, dataset: data },
    t(ok ? "inspector.agrees" : "inspector.differs", vars),
  );
}
