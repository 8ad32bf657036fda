/** The names of the sides of a translation: "source, English". */

import { t } from "../../ui/i18n.js";
import { languageName } from "../notes.js";

/** @param {any} model @param {"source"|"target"} side */
export function sideName({ languages = [] }, side) {
  const code = languages[side === "source" ? 0 : 1];
  const name = t(`sides.${side}`);
  return code && languages.length === 2 ? t("target.side", { side: name, language: languageName(code) }) : name;
}
