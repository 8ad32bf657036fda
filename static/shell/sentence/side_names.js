/** The names of the sides of a translation: "source, English". */

import { directionOf } from "../../model/directions.js";
import { languageName, t } from "../../ui/i18n.js";

/** @import { Translator } from "../../model/directions.js" */

/** @param {Translator} model @param {"source"|"target"} side @param {string} text  the source's */
export function sideName(model, side, text) {
  const code = directionOf(model, text)?.[side === "source" ? 0 : 1];
  const name = t(`sides.${side}`);
  return code ? t("target.side", { side: name, language: languageName(code) }) : name;
}
