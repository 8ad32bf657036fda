/** A token's text as nodes: marks and bytes are lighter than the typed text. */

import { tokenParts } from "../model/labels.js";
import { h } from "./dom.js";

const CLASSES = { text: null, mark: "token-mark", byte: "token-byte" };

/** @param {Parameters<typeof tokenParts>[0]} token @returns {Node[]} */
export function tokenText(token) {
  return tokenParts(token).map(({ kind, text }) => h("span", { class: CLASSES[kind] }, text));
}
