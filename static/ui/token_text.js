/** A token's text as nodes (marks and bytes are lighter than the typed text), and its name in a sentence. */

import { labelName, tokenName, tokenParts } from "../model/labels.js";
import { h } from "./dom.js";
import { patchPicture } from "./patch_picture.js";

const CLASSES = { text: null, mark: "token-mark", byte: "token-byte" };

/** @param {Parameters<typeof tokenParts>[0]} token @returns {Node[]} */
export function tokenText(token) {
  if ("patch" in token && token.patch) return [patchPicture(/** @type {any} */ (token).patch)];
  return tokenParts(token).map(({ kind, text }) => h("span", { class: CLASSES[kind] }, text));
}

/**
 * A token named in a sentence, as read; `role` ("q", "k") colours it, `index` is its position.
 * @param {Parameters<typeof tokenName>[0]} token @param {string} [role] @param {number} [index]
 */
export function namedToken(token, role = "", index) {
  const at = index === undefined ? null : h("small", { class: "dim" }, ` ${index}`);
  return h("b", { class: `mono token-name ${role}` }, tokenName(token), at);
}

/** A token in a table or a list, with the marks of its spaces. @param {Parameters<typeof tokenParts>[0]} token */
export const listedToken = (token) => h("b", { class: "mono token-name" }, tokenText(token));

/** A name in a sentence for a label that a matrix already has. @param {string} label @param {string} role @param {number} index */
export function namedLabel(label, role, index) {
  return h(
    "span",
    null,
    h("b", { class: `${role} mono` }, labelName(label)),
    h("small", { class: "dim" }, ` ${index}`),
  );
}
