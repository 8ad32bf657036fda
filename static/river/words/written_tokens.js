/** What each row of a translation wrote: the token after it. No DOM. */

/** @import { Name } from "../../model/numbered_names.js" */

/**
 * For each token of the answering stack, the one that its row wrote; the last row's is not there yet. [] where rows
 * read as they write: the token after a word of a story is the row below it, and says nothing new.
 * @param {{rolled: {river: {side: string}}[], names: Name[][]}} facts @returns {(string|null)[]}
 */
export function wroteOf({ rolled: [{ river }], names: [own] }) {
  if (river.side !== "target") return [];
  return own.map((_, row) => own[row + 1]?.word ?? null);
}

/** As it stands beside a row's label. @param {string|null|undefined} word */
export const wroteText = (word) => (word ? `\u2009⇒ ${word}` : "");
