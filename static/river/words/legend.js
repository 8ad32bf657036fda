/** What stands around the picture: what the model does, and what widths and darkness mean. */

import { currentTheme } from "../../chart/colour.js";
import { fillsGaps, predictsTokens, writesTarget } from "../../model/description.js";
import { t } from "../../ui/i18n.js";
import { nameText } from "./names.js";

/** @import { Facts } from "../facts/facts.js" */

/** What this model does, in a sentence. @param {any} model */
export function aboutOf(model) {
  if (writesTarget(model)) return t("river.about_translates");
  if (predictsTokens(model)) return t("river.about");
  const first = model.special.first?.text; // a newcomer meets it as the token whose answer the picture shows
  if (!first || fillsGaps(model)) return t("river.about_reads");
  return t(model.picture ? "river.about_picture" : "river.about_gathers", { first });
}

/** What the picture means; of darkness, once it is measured. @param {Facts} facts */
export function legendOf({ names, row, measured, cuttable, isSaved }) {
  const token = nameText(names[0][row]);
  if (names[0].length === 1) return t("river.legend_alone");
  if (!measured) return `${t("river.legend_widths", { token })}${isSaved ? "" : t("river.legend_uncuttable")}`;
  if (measured?.error) return `${t("river.legend_widths", { token })}${t("river.legend_unmeasured")}`;
  if (!measured?.effects.size) return `${t("river.legend_widths", { token })}${t("river.legend_measuring")}`;
  const isLast = row === names[0].length - 1;
  const means = t(`river.legend${isLast ? "" : "_token"}${currentTheme() === "dark" ? "_dark" : ""}`, { token });
  return cuttable ? `${means}${t("river.legend_click")}` : means;
}
