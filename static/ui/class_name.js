/** The name of a class on the page; a class that is not in the catalogue keeps the model's name. */

import { t } from "./i18n.js";

const KNOWN = ["negative", "positive"];

/** @param {string} name */
export const className = (name) => (KNOWN.includes(name) ? t(`classes.${name}`) : name);
