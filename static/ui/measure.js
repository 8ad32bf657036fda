/** The names of what is measured on held-out text. */

import { hasString, t } from "./i18n.js";

/** @param {string} name  as on a card */
export const measureName = (name) => (hasString(`watched.measure.${name}`) ? t(`watched.measure.${name}`) : name);
