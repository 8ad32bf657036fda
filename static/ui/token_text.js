/** A token's text as nodes (marks and bytes are lighter than the typed text), and its name in a sentence. */

import { tokenParts } from "../model/labels.js";
import { h } from "./dom.js";
import { patchPicture } from "./patch_picture.js";

const CLASSES = { text: null, mark: "token-mark", byte: "token-byte" };

/** @param {Parameters<typeof tokenParts>[0]} token @returns {Node[]} */
export function tokenText(token) {
  if ("patch" in token && token.patch) return [patchPicture(/** @type {any} */ (token).patch)];
  return tokenParts(token).map(({ kind, text }) => h("span", { class: CLASSES[kind] }, text));
}

/**
 * A token named in a sentence; `role` ("q", "k") colours it, `index` is its position.
 * @param {Parameters<typeof tokenParts>[0]} token @param {string} [role] @param {number} [index]
 */
export function namedToken(token, role = "", index) {
  const at = index === undefined ? null : h("small", { class: "dim" }, ` ${index}`);
  return h("b", { class: `mono token-name ${role}` }, tokenText(token), at);
}

/** The same for a label that a matrix already has. @param {string} label @param {string} role @param {number} index */
export function namedLabel(label, role, index) {
  return h("span", null, h("b", { class: `${role} mono` }, label), h("small", { class: "dim" }, ` ${index}`));
}
