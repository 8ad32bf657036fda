/** What tokens are called in a sentence: words as read, with a number where a word comes again. No DOM. */

import { characterGroups, quoted, tokenLabel } from "./labels.js";

/**
 * @import { Token } from "./labels.js"
 * @import { Patch } from "./patches.js"
 */

/** @typedef {{word: string, nth: number|null, patch?: Patch}} Name  `patch`: of a picture; `nth`: 1 for the first of several; null: it comes once */

/** @type {WeakMap<object, Name[]>} */
const known = new WeakMap();

/** @param {Token[]} tokens @returns {Name[]} */
export function namesOf(tokens) {
  const names = known.get(tokens) ?? numbered(wordsOf(tokens)).map((name, i) => withPatch(name, tokens[i]));
  known.set(tokens, names);
  return names;
}

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

/** Without the spaces around it, punctuation in quotes; a token of spaces shows them. @param {Token} token */
function wordOf(token) {
  const plain = !token.partial && !token.special && !token.patch && token.text.trim();
  if (plain && /^\p{P}+$/u.test(plain)) return quoted(plain);
  return tokenLabel(plain ? { ...token, text: plain } : token);
}

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
const below = (n) => [...String(n)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[Number(digit)]).join("");
