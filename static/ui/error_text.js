/** Errors in words. */

import { integer, megapixels } from "./format.js";
import { hasString, t } from "./i18n.js";

/** @import { ApiError } from "../data/api.js" */

/**
 * An error in the page's language, with its limit and what to do; the server's own text if the catalogue has none.
 * @param {unknown} error  an ApiError, or any other
 */
export function errorText(error) {
  const { code, limit, got, hint, message, known } = /** @type {ApiError} */ (error);
  const key = [`error.${code}.once`, `error.${code}`].find(hasString); // once: nobody tries again by itself
  const sizes = { limit_mb: inMegabytes(limit), got_mb: inMegabytes(got), limit_mega: megapixels(Number(limit)) };
  if (code && key)
    return t(key, { limit: written(limit), got: written(got), known: (known ?? []).join(", "), ...sizes });
  return [message, hint].filter(Boolean).join(" ");
}

/** @param {unknown} value  bytes; as the server writes them */
const inMegabytes = (value) => Number((Number(value) / 2 ** 20).toPrecision(3));

/** @param {unknown} value  a count, or a name */
function written(value) {
  return typeof value === "number" ? integer(value) : String(value ?? "");
}
