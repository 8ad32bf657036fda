/**
 * A matrix over tokens as one over characters or words: pure, no DOM. Keys are summed, because a row distributes its
 * weight over them; queries are averaged, so each row still sums to 1. A cell is forbidden only if all its parts are.
 */

import { characterGroups, textOf, tokenLabel } from "./labels.js";

/** @import { Token } from "./labels.js" */

// Word boundaries: spaces and punctuation in English, a dictionary in Japanese (Intl.Segmenter). No DOM.

/** A word with its apostrophes; an emoji with its modifiers; a sign, or a run of the same sign. */
const PIECES =
  /[\p{L}\p{N}\p{M}_]+(?:['’]\p{L}+)*|\p{Extended_Pictographic}[\u200d\ufe0f\u{1f3fb}-\u{1f3ff}\p{Extended_Pictographic}]*|([^\s\p{L}\p{N}\p{M}_])\1*/gu;
export const JAPANESE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々〆]/u;

/**
 * Where words begin, among the possible offsets: before the preceding space if that is possible.
 * @param {string} text @param {Set<number>} possible  UTF-16 offsets @returns {Set<number>}
 */
function wordBreaks(text, possible) {
  const breaks = new Set();
  for (const start of [...wordStarts(text), text.length]) {
    const space = start - (text.slice(0, start).match(/\s+$/)?.[0].length ?? 0);
    breaks.add(possible.has(space) ? space : start);
  }
  return breaks;
}

/** @param {string} text @returns {Set<number>} */
function wordStarts(text) {
  const starts = new Set([...text.matchAll(PIECES)].map((match) => match.index));
  if (!JAPANESE.test(text) || !("Segmenter" in Intl)) return starts; // without Intl.Segmenter, a run of Japanese is one word
  for (const { index } of new Intl.Segmenter("ja", { granularity: "word" }).segment(text)) {
    const around = text.slice(Math.max(0, index - 1), index + 2);
    if (JAPANESE.test(around) && !/^\s/.test(text.slice(index))) starts.add(index);
  }
  return starts;
}

/**
 * @typedef {"tokens"|"characters"|"words"} Unit
 * @typedef {{tokens: Token[], start: number, end: number}} Character
 * @typedef {{start: number, end: number, label: string}} Group  tokens from `start` up to, not with, `end`
 * @typedef {{values: Float32Array|Uint8Array, shape: [number, number], forbidden: Uint8Array|null}} Cells
 */

/** In this order from the smallest to the largest. @type {Unit[]} */
export const UNITS = ["tokens", "characters", "words"];

/**
 * Runs of tokens, each in one group and in their order. Special tokens (PAD, [CLS]) are always alone.
 * @param {Token[]} tokens @param {Unit} unit @returns {Group[]}
 */
export function tokenGroups(tokens, unit) {
  if (unit === "tokens") return tokens.map((token, i) => ({ start: i, end: i + 1, label: tokenLabel(token) }));
  let end = 0;
  const characters = characterGroups(tokens).map((run) => {
    const start = end;
    end += run.tokens.length;
    return { tokens: run.tokens, start, end };
  });
  const runs = unit === "characters" ? characters.map((run) => [run]) : joined(characters);
  return runs.map((run) => {
    const inside = run.flatMap((part) => part.tokens);
    return { start: run[0].start, end: run[run.length - 1].end, label: labelOf(inside, unit) };
  });
}

/** Consecutive characters of the same word. @param {Character[]} characters @returns {Character[][]} */
function joined(characters) {
  /** @type {Character[][]} */
  const runs = [];
  for (const part of characters) {
    const open = runs.at(-1);
    if (open && !isSpecial(part) && !isSpecial(open[0])) open.push(part);
    else runs.push([part]);
  }
  return runs.flatMap((run) => (isSpecial(run[0]) ? [run] : cutIntoWords(run)));
}

/** @param {Character[]} run @returns {Character[][]} */
function cutIntoWords(run) {
  const texts = run.map((part) => textOf(part.tokens));
  let length = 0;
  const starts = texts.map((text) => {
    length += text.length;
    return length - text.length;
  });
  const breaks = wordBreaks(texts.join(""), new Set(starts));
  /** @type {Character[][]} */
  const words = [];
  run.forEach((part, i) => {
    if (i === 0 || breaks.has(starts[i])) words.push([part]);
    else words[words.length - 1].push(part);
  });
  return words;
}

/** @param {Character} character */
function isSpecial({ tokens }) {
  return tokens[0].special;
}

/** The text that they spell; invalid bytes as bytes. @param {Token[]} tokens @param {Unit} unit */
function labelOf(tokens, unit) {
  const text = textOf(tokens);
  if (tokens[0].special || (text.includes("\ufffd") && tokens.some(({ partial }) => partial)))
    return tokens.map(tokenLabel).join("");
  const shown = unit === "words" ? text.replace(/^ +(?=\S)/, "") : text;
  return tokenLabel({ text: shown, bytes: "", partial: false, special: false });
}

/**
 * The sums over the tokens of a key group, averaged over the tokens of a query group.
 * @param {Cells} cells @param {Group[]} rows @param {Group[]} cols
 * @returns {{values: Float32Array, shape: [number, number], forbidden: Uint8Array|null}}
 */
export function summed({ values, shape: [, width], forbidden }, rows, cols) {
  const out = new Float32Array(rows.length * cols.length);
  const closed = forbidden && new Uint8Array(out.length);
  rows.forEach((row, r) =>
    cols.forEach((col, c) => {
      let [total, reasons, open] = [0, 0, false];
      for (let query = row.start; query < row.end; query++) {
        for (let key = col.start; key < col.end; key++) {
          const at = query * width + key;
          total += values[at];
          if (forbidden?.[at]) reasons |= forbidden[at];
          else open = true;
        }
      }
      out[r * cols.length + c] = total / (row.end - row.start);
      if (closed && !open) closed[r * cols.length + c] = reasons;
    }),
  );
  return { values: out, shape: [rows.length, cols.length], forbidden: closed?.some(Boolean) ? closed : null };
}

/** The group that holds a token. @param {Group[]} groups @param {number} index */
export function groupAt(groups, index) {
  return Math.max(
    0,
    groups.findIndex(({ start, end }) => index >= start && index < end),
  );
}

/** Whether some tokens are only parts of a character. @param {Token[]} tokens */
export function sharesCharacters(tokens) {
  return characterGroups(tokens).some((run) => run.tokens.length > 1);
}

/** Whether most tokens that spell something are only parts of a character. @param {Token[]} tokens */
export function mostlyBytes(tokens) {
  const spelling = tokens.filter(({ special }) => !special);
  return spelling.filter(({ partial }) => partial).length > spelling.length / 2;
}
