/** Token text in readable form: invisible characters get a mark, parts of a character show their bytes. */

import { patchLabel } from "./patches.js";

/** @import { Patch } from "./patches.js" */

/**
 * @typedef {{index: number, id: number, bytes: string, text: string, start: number, end: number, partial: boolean,
 *   special: boolean, patch?: Patch}} Token  patch: of a picture
 * @typedef {{kind: "text"|"mark"|"byte", text: string}} Part
 */

/** Tokens without text, by their usual names. @type {Record<string, string>} */
const SPECIAL = { "<|pad|>": "PAD", "<|start|>": "START", "<|endoftext|>": "END" };

/** @type {Record<string, string>} */
const MARKS = { " ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u3000": "□" };

/**
 * Characters that draw nothing or reorder others: controls, format characters (zero-width space and joiner,
 * bidirectional overrides, soft hyphen), separators.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}]/u;

/** "e38182" → "⟨e3 81 82⟩". @param {string} hex */
export function bytesLabel(hex) {
  return `⟨${(hex.match(/../g) ?? []).join(" ")}⟩`;
}

/**
 * A token's text in pieces, so that marks and bytes can be drawn lighter than what was typed.
 * @param {Pick<Token, "text"|"bytes"|"partial"|"special">} token
 * @returns {Part[]}
 */
export function tokenParts(token) {
  if (token.partial) return [{ kind: "byte", text: bytesLabel(token.bytes) }];
  if ("patch" in token && token.patch) return [{ kind: "text", text: patchLabel(/** @type {any} */ (token).patch) }];
  if (token.special) return [{ kind: "text", text: SPECIAL[token.text] ?? token.text }];
  /** @type {Part[]} */
  const parts = [];
  for (const character of token.text) {
    const [kind, text] = markOf(character);
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else parts.push({ kind, text });
  }
  return parts;
}

/** A token's label as one string. @param {Pick<Token, "text"|"bytes"|"partial"|"special">} token @returns {string} */
export function tokenLabel(token) {
  return tokenParts(token)
    .map((part) => part.text)
    .join("");
}

/** A token's name in a sentence. @param {Parameters<typeof tokenLabel>[0]} token */
export const tokenName = (token) => labelName(tokenLabel(token));

/**
 * The same of a label: as read, without the marks of spaces around it. Punctuation is quoted, because "looks most at ,"
 * would be unreadable.
 * @param {string} label
 */
export function labelName(label) {
  const read = label.replace(/^·+|·+$/g, "") || label;
  return read === "" || /[\p{L}\p{N}]/u.test(read) ? read : quoted(read);
}

/** In quotes; Japanese punctuation in Japanese ones. @param {string} label */
export function quoted(label) {
  return /[\u3000-\u303f\uff00-\uffef]/.test(label) ? `「${label}」` : `“${label}”`;
}

/** @param {string} character @returns {["text"|"mark", string]} */
function markOf(character) {
  if (character in MARKS) return ["mark", MARKS[character]];
  const code = /** @type {number} */ (character.codePointAt(0));
  if (code < 0x20) return ["mark", String.fromCodePoint(0x2400 + code)];
  if (INVISIBLE.test(character)) return ["mark", `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`];
  return ["text", character];
}

/** A label cut to `max` characters for an axis; the full one belongs in the hover text. @param {string} label @param {number} max */
export function shortLabel(label, max = 12) {
  const characters = [...label];
  return characters.length <= max ? label : `${characters.slice(0, max - 1).join("")}…`;
}

/**
 * A text cut to a width, with an ellipsis.
 * @param {string} text @param {number} room @param {(text: string) => number} widthOf
 */
export function cutToWidth(text, room, widthOf) {
  if (widthOf(text) <= room) return text;
  const characters = [...text];
  while (characters.length > 1 && widthOf(`${characters.join("")}…`) > room) characters.pop();
  return `${characters.join("")}…`;
}

/**
 * Groups of tokens that share characters: tokens with bytes of one character stay together.
 * @param {Token[]} tokens
 * @returns {{tokens: Token[], text: string|null}[]} `text`: what a run of several spells together, else null
 */
export function characterGroups(tokens) {
  /** @type {Token[][]} */
  const runs = [];
  for (const token of tokens) {
    const last = runs.at(-1)?.at(-1);
    const shares = last?.partial && token.partial && !token.special && token.start < last.end;
    if (shares) runs.at(-1)?.push(token);
    else runs.push([token]);
  }
  return runs.map((run) => ({ tokens: run, text: run.length > 1 ? textOf(run) : null }));
}

/** The text that the bytes of some tokens spell. @param {Pick<Token, "bytes">[]} tokens @returns {string} */
export function textOf(tokens) {
  const hex = tokens.map((token) => token.bytes).join("");
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  return new TextDecoder().decode(bytes);
}
