/**
 * What the page remembers about a reader in cookies, so that the server can render the page correctly: only three
 * values.
 */

const YEAR = 365 * 24 * 3600;

/** @param {"lang"|"theme"|"type"} name @param {string|null} value  null forgets it */
export function remember(name, value) {
  const age = value === null ? 0 : YEAR;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API answers later, and the page may be left by then
  document.cookie = `${name}=${value ?? ""}; path=/; max-age=${age}; samesite=lax`;
}
