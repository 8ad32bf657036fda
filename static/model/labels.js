/** Token text in readable form: invisible characters get a mark, parts of a character show their bytes. */

import { memo } from "./memo.js";
import { patchLabel } from "./patches.js";

/** @import { Patch } from "./patches.js" */

/**
 * @typedef {{index: number, id: number, bytes: string, text: string, start: number, end: number, partial: boolean,
 *   special: boolean, patch?: Patch, piece?: boolean}} Token  patch: of a picture; piece: see {@link offeredAfter}
 * @typedef {Pick<Token, "id"|"bytes"|"text"|"partial"|"special">} VocabularyToken  outside a sentence
 * @typedef {{kind: "text"|"mark"|"byte", text: string}} Part
 */

/** Tokens without text, by their usual names. @type {Record<string, string>} */
const SPECIAL = { "<|pad|>": "PAD", "<|start|>": "START", "<|endoftext|>": "END" };

/** @type {Record<string, string>} */
const MARKS = { " ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u3000": "□" };

/**
 * Characters that draw nothing or reorder others: controls, format characters (zero-width space and joiner,
 * bidirectional overrides, soft hyphen), separators, what Unicode lets a font ignore (variation selectors, fillers, the
 * byte-order mark), and the empty braille cell.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

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

/** A token's name in a sentence. @param {Parameters<typeof tokenLabel>[0] & {piece?: boolean}} token */
export const tokenName = (token) => leadOf(token) + labelName(tokenLabel(token));

/**
 * The same of a label: as read, without the marks of spaces around it. Punctuation is quoted, because "looks most at ,"
 * would be unreadable; a sign for a space or a new line is not.
 * @param {string} label
 */
export function labelName(label) {
  const read = label.replace(/^·+|·+$/g, "") || label;
  return read === "" || /[\p{L}\p{N}]|^[·↵⇥␍⍽□]+$/u.test(read) ? read : quoted(read);
}

const QUOTES = /["'`“”‘’„«»「」『』]/;

/**
 * The quotes around a label, Japanese around Japanese; around a quotation mark brackets: three marks in a row could not be read.
 * @param {string} label @returns {[open: string, close: string]}
 */
function quotesOf(label) {
  if (/[“「].+[”」]/.test(label)) return ["", ""]; // it is in quotes
  if (QUOTES.test(label) && !/[\p{L}\p{N}]/u.test(label)) return ["[", "]"];
  return /[\u3000-\u309f\uff00-\uffef]/.test(label) ? ["「", "」"] : ["“", "”"];
}

/** @param {string} label */
const quoted = (label) => quotesOf(label).join(label);

/** @param {string} character @returns {["text"|"mark", string]} */
function markOf(character) {
  if (character in MARKS) return ["mark", MARKS[character]];
  const code = /** @type {number} */ (character.codePointAt(0));
  if (code < 0x20) return ["mark", String.fromCodePoint(0x2400 + code)];
  if (INVISIBLE.test(character)) return ["mark", `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`];
  return ["text", character];
}

/** A text whose characters can all be seen: spaces stay, what draws nothing has its mark. @param {string} text */
export const visibleText = (text) => [...text].map((one) => (one === " " ? one : markOf(one)[1])).join("");

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
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes); // U+FEFF is a character of a text like any other
}

/** A token with a part of a character: what can be read of it, and the bytes of that part: "を⟨e5⟩". @param {Pick<Token, "bytes">} token */
export function partText({ bytes }) {
  let end = bytes.length;
  while (textOf([{ bytes: bytes.slice(0, end) }]).includes("\ufffd")) end -= 2;
  const read = textOf([{ bytes: bytes.slice(0, end) }]).trim();
  return end < bytes.length ? read + bytesLabel(bytes.slice(end)) : read;
}

// What tokens are called in a sentence: words as read, with a number where a word comes again. No DOM.

/** @typedef {{word: string, nth: number|null, patch?: Patch}} Name  `patch`: of a picture; `nth`: 1 for the first of several; null: it comes once */

/** @type {(tokens: Token[]) => Name[]} */
export const namesOf = memo((tokens) => numbered(wordsOf(tokens)).map((name, i) => withPatch(name, tokens[i])));

/** The names of some tokens as text: "red₂"; the same array for the same tokens. @type {(tokens: Token[]) => string[]} */
export const namesIn = memo((tokens) => namesOf(tokens).map(nameText));

/** Their labels, with the marks of spaces; the same array for the same tokens. @type {(tokens: Token[]) => string[]} */
export const labelsOf = memo((tokens) => tokens.map(tokenLabel));

/** @param {Token[]} tokens */
const wordsOf = (tokens) =>
  characterGroups(tokens).flatMap(({ tokens: run, text }) =>
    run.map((token) => partWord(run, text, token) ?? wordOf(token)),
  );

/**
 * A token with a part of a character is called by the whole character, and which part it is: "猫(1/3)". null: it has
 * none, or the other parts are not there.
 * @param {Token[]} run  tokens that share characters @param {string|null} text  what they spell
 * @param {Token} token
 */
function partWord(run, text, token) {
  if (text === null || text.includes("\ufffd")) return null;
  const holders = (/** @type {number} */ at) => run.filter(({ start, end }) => start <= at && at < end);
  const of = [token.end - 1, token.start].map(holders).find(({ length }) => length > 1);
  if (!of) return null;
  const whole = [...text].slice(token.start - run[0].start, token.end - run[0].start).join("");
  return `${tokenLabel({ ...token, partial: false, text: whole.trim() || whole })}(${of.indexOf(token) + 1}/${of.length})`;
}

/** Whether it is called by a part of a character, or by bytes. @param {Name} name */
export const isPart = ({ word }) => /\(\d+\/\d+\)$|^⟨.*⟩$/u.test(word);

/** Which part of a character it is called by: "1/3"; null: by none. @param {Name} name */
export const byteOf = ({ word }) => /\((\d+\/\d+)\)$/u.exec(word)?.[1] ?? null;

/** What the name of a punctuation mark has around the mark itself; null: it is something else. @param {Pick<Token, "text"|"partial"|"special"|"patch">} token */
export function quotesAround({ text, partial, special, patch }) {
  const isMark = !partial && !special && !patch && /^\p{P}+$/u.test(text.trim());
  return isMark ? quotesOf(text.trim()) : null;
}

/** The name of a punctuation mark: quotes around it, and its number. */
const CAP_PARTS = ["[“「[]", "\\p{P}+", "[”」\\]]", "[₀-₉]*"];
const CAP = new RegExp(`^${CAP_PARTS.map((part) => `(${part})`).join("")}$`, "u");
const CAPS = new RegExp(`(${CAP_PARTS.join("")})`, "u");

/** The parts of the name of a punctuation mark, which the page draws as a key cap: “.”₁; null: it is another name. @param {string} name */
export function capOf(name) {
  const found = CAP.exec(name);
  return found && { open: found[1], mark: found[2], close: found[3], nth: found[4] };
}

/** A text in pieces: the names of punctuation marks, and what is between them. @param {string} text */
export const capsIn = (text) => text.split(CAPS).filter(Boolean);

/** Punctuation in quotes, without the spaces around it; null: it is something else. @param {Parameters<typeof quotesAround>[0]} token */
const markName = (token) => quotesAround(token)?.join(token.text.trim()) ?? null;

/** Without the spaces around it, punctuation in quotes; a token of spaces shows them. @param {Token} token */
function wordOf(token) {
  const plain = !token.partial && !token.special && !token.patch && token.text.trim();
  return markName(token) ?? leadOf(token) + tokenLabel(plain ? { ...token, text: plain } : token);
}

const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** Whether a text is written in characters as wide as high. @param {string} text */
export const isWide = (text) => SPACELESS.test(text);

/**
 * Whether a token goes on with the word before it: “ries” after “ber”, “'s” after “it”. Without spaces nothing tells where a word begins.
 * @param {{text: string, partial: boolean, special: boolean}} token @param {{text: string, special: boolean}} before
 */
export const isPiece = ({ text, partial, special }, before) =>
  !partial && !special && !before.special && /^['’]?\p{L}/u.test(text) && /\p{L}$/u.test(before.text) && !isWide(text);

/**
 * A token as it is offered after another one: a piece that goes on with the word there is called “…ries”.
 * @template {{text: string, partial: boolean, special: boolean}} T
 * @param {T} token @param {{text: string, special: boolean}|undefined} before @returns {T & {piece?: boolean}}
 */
export const offeredAfter = (token, before) => (before && isPiece(token, before) ? { ...token, piece: true } : token);

/** @param {{piece?: boolean}} token */
const leadOf = ({ piece }) => (piece ? "…" : "");

/** @param {Name} name @param {Token} token @returns {Name} */
const withPatch = (name, { patch }) => (patch ? { ...name, patch } : name);

/** @param {string[]} words @returns {Name[]} */
function numbered(words) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  /** @type {Map<string, number>} */
  const seen = new Map();
  return words.map((word) => {
    if (counts.get(word) === 1) return { word, nth: null };
    const nth = (seen.get(word) ?? 0) + 1;
    seen.set(word, nth);
    return { word, nth };
  });
}

/** "red₂". @param {Name} name */
export const nameText = ({ word, nth }) => word + (nth === null ? "" : below(nth));

/** 12 → "₁₂". @param {number} n */
export const below = (n) => [...String(n)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]).join("");

// Which words carry content.

/** English words that hold a sentence together, as Japanese writes them in hiragana. */
const FUNCTION_WORDS = new Set(
  (
    "a an the and or but if so of to in on at by for from with as into than then that this these those it its he him his she " +
    "her they them their we us our you your i me my is are was were be been am do does did has have had will would can could " +
    "not no what who which when where there up out"
  ).split(" "),
);

/** @param {string} word */
const isFunctionWord = (word) => FUNCTION_WORDS.has(word.toLowerCase()) || /^[\p{Script=Hiragana}ー]+$/u.test(word);

/** Whether a token says what a sentence is about: no punctuation, START or END, and no word that holds it together. @param {Token} token */
export const isContent = ({ special, partial, text }) =>
  !special && !partial && /[\p{L}\p{N}]/u.test(text) && !isFunctionWord(text.trim());
