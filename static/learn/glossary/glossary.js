/** The glossary: which words a text has, marked for its reader. The words are words.json; the card is card.js. */

import { once } from "../../data/lazily.js";
import { glossary } from "../../data/lessons.js";
import { h } from "../../ui/dom.js";
import { language } from "../../ui/i18n.js";

/** @import { Word } from "../../data/lessons.js" */

/** @type {Word[]} */
let words = [];
/** @type {RegExp|null} */
let pattern = null;
/** @type {Map<string, string>} the id of each form of a word */
const ids = new Map();

/** How many words of one text are marked: more would be noise. */
const MOST = 3;

/** The words, fetched once. */
export const loadWords = once(async () => {
  words = await glossary();
  const forms = words.flatMap((word) => formsOf(word).map((form) => ({ id: word.id, form })));
  for (const { id, form } of forms) ids.set(form.toLowerCase(), id);
  const longest = forms.map(({ form }) => form).sort((a, b) => b.length - a.length);
  const any = longest.map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  // Japanese has no spaces between words.
  pattern = new RegExp(language() === "ja" ? `(${any})` : `(?<![\\w-])(${any})(?![\\w-])`, "gi");
  return words;
});

/** @param {Word} word */
const formsOf = (word) => [word[language()].word, ...(word[language()].also ?? [])];

/** @param {string} id */
export const wordCalled = (id) => words.find((word) => word.id === id);

/**
 * A text as nodes: the first of each word is a button that opens its card (`data-word`). Plain until the words are here.
 * @param {string} text @param {Set<string>} [marked]  words that need no mark any more; grows
 * @returns {(Node|string)[]}
 */
export function mark(text, marked = new Set()) {
  if (!pattern) return [text];
  const before = marked.size;
  return text.split(pattern).map((piece, i) => {
    const id = i % 2 ? ids.get(piece.toLowerCase()) : undefined;
    if (!id || marked.has(id) || marked.size - before >= MOST) return piece;
    marked.add(id);
    return h("button", { class: "term", type: "button", dataset: { word: id } }, piece);
  });
}
