/** A class by its name on the page; a class that the catalogue does not know keeps the model's name. */

import { t } from "./i18n.js";

const KNOWN = ["negative", "positive"];

/** @param {string} name */
export const className = (name) => (KNOWN.includes(name) ? t(`classes.${name}`) : name);
