/** Errors in words. */

import { hasString, t } from "./i18n.js";

/**
 * An error in the page's language, with its limit and what to do; the server's own words where the page has none.
 * @param {import("../data/api.js").ApiError|Error} error
 */
export function errorText(error) {
  const { code, limit, got, hint } = /** @type {any} */ (error);
  const key = `error.${code}`;
  if (code && hasString(key)) return t(key, { limit: limit ?? "", got: got ?? "" });
  return [error.message, hint].filter(Boolean).join(" ");
}
