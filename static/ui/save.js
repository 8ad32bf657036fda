/** Saves a file on the reader's machine. */

import { h } from "../ui/dom.js";

const KEPT_FOR_MS = 60_000;

/** @param {Blob} blob @param {string} name @returns {string} the name */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name, hidden: true });
  link.click(); // it need not be attached to the page
  setTimeout(() => URL.revokeObjectURL(url), KEPT_FOR_MS); // the browser may still be asking where to save it
  return name;
}

/** @param {string} text @param {string} type @param {string} name */
export function saveText(text, type, name) {
  return saveBlob(new Blob([text], { type: `${type};charset=utf-8` }), name);
}
