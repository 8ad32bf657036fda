/** Where on the slider the page is, in words. */

import { heldOutOf, placeOf, snapshotsOf } from "../../model/snapshots.js";
import { integer, measureName, number } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";

/** @import { Snapshot } from "../../model/snapshots.js" */

/** @param {any} model */
export function whereOf(model) {
  const snapshot = snapshotsOf(model)[placeOf(model)];
  if (!snapshot) return t("watched.at_end");
  const { step, tokens } = snapshot;
  const at =
    step === 0 ? t("watched.at_start") : t("watched.at_step", { step: integer(step), tokens: integer(tokens ?? 0) });
  return [at, heldOutText(snapshot)].filter(Boolean).join(" ");
}

/** @param {Snapshot} snapshot */
function heldOutText(snapshot) {
  const [name, value] = heldOutOf(snapshot) ?? [];
  if (!name || value === undefined) return "";
  return t("watched.held_out", { measure: measureName(name), value: number(value, 3) });
}
