/** Word boundaries: spaces and punctuation in English, a dictionary in Japanese (Intl.Segmenter). No DOM. */

/** A word with its apostrophes; an emoji with its modifiers; a sign, or a run of the same sign. */
const PIECES =
  /[\p{L}\p{N}\p{M}_]+(?:['’]\p{L}+)*|\p{Extended_Pictographic}[\u200d\ufe0f\u{1f3fb}-\u{1f3ff}\p{Extended_Pictographic}]*|([^\s\p{L}\p{N}\p{M}_])\1*/gu;
const JAPANESE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々〆]/u;

/**
 * Where words begin, among the possible offsets: before the preceding space if that is possible.
 * @param {string} text @param {Set<number>} possible  UTF-16 offsets @returns {Set<number>}
 */
export function wordBreaks(text, possible) {
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
