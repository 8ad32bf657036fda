/** The glossary: which words a text has, marked for its reader. The words are words.json; the card is card.js. */

import { once } from "../../data/lazily.js";
import { glossary } from "../../data/lessons.js";
import { h, newId, replace, setText } from "../../ui/dom.js";
import { language, t } from "../../ui/i18n.js";

/**
 * @import { Word } from "../../data/lessons.js"
 * @import { Context } from "../../page.js"
 * @import { Patch } from "../../state/store.js"
 */

// The stations of the ribbon that lessons and the glossary open, by name, with the state that opens each.

/** @type {Object<string, Patch>} */
export const STATION_STATES = {
  tokens: { view: "tokens" },
  embedding: { view: "embedding" },
  qkv: { view: "qkv" },
  scores: { view: "attention", viewState: { attention: { step: "scaled" } } },
  mask: { view: "attention", viewState: { attention: { step: "masked" } } },
  weights: { view: "attention", viewState: { attention: { step: "weights" } } },
  av: { view: "av" },
  ffn: { view: "ffn" },
  residual: { view: "residual" },
  lens: { view: "prediction", viewState: { prediction: { tab: "layers" } } },
  prediction: { view: "prediction", viewState: { prediction: { tab: "token" } } },
  computation: { view: "computation" },
};

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
const wordCalled = (id) => words.find((word) => word.id === id);

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

/** The card of a word: what it means, and a way to its station. One for each page. */
const GAP = 8;

/** @param {Context} context */
export function createWordCard({ actions, frame, ground }) {
  const { root, help } = frame;
  const title = h("h2", { id: newId("word") });
  const text = h("p");
  const go = h("button", { class: "btn", type: "button", dataset: { testid: "word-station" } }, t("glossary.station"));
  const card = h(
    "div",
    {
      class: "word-card",
      role: "dialog",
      "aria-labelledby": title.id,
      tabindex: -1,
      hidden: true,
      dataset: { testid: "word-card" },
    },
    title,
    text,
    go,
  );
  /** @type {HTMLElement|null} */
  let from = null;

  /** @param {HTMLElement} term */
  function open(term) {
    const word = wordCalled(term.dataset.word ?? "");
    if (!word) return;
    from = term;
    setText(title, word[language()].word);
    setText(text, word[language()].says);
    go.hidden = actions.get().lesson !== null || actions.get().text === "";
    go.onclick = () => {
      close();
      if (help.open) help.close();
      actions.set(STATION_STATES[word.station]);
      frame.opened.scrollIntoView({ block: "nearest" });
      frame.opened.focus({ preventScroll: true });
    };
    (term.closest("dialog") ?? root).append(card); // above what is modal
    card.hidden = false;
    place(card, term);
    card.focus({ preventScroll: true });
  }

  function close() {
    if (card.hidden) return;
    const inside = card.contains(document.activeElement);
    card.hidden = true;
    if (inside) from?.focus({ preventScroll: true });
  }

  root.addEventListener("click", (/** @type {MouseEvent} */ event) => {
    const at = /** @type {HTMLElement} */ (event.target);
    const term = /** @type {HTMLElement|null} */ (at.closest?.("[data-word]"));
    if (term) open(term);
    else if (!card.contains(at)) close();
  });
  ground.addEventListener(
    "keydown",
    (given) => {
      const event = /** @type {KeyboardEvent} */ (given);
      if (event.key !== "Escape" || card.hidden) return;
      event.preventDefault();
      event.stopPropagation();
      close();
    },
    { capture: true },
  );
}

/** In a lesson next to its words; elsewhere below the word, or above it. @param {HTMLElement} card @param {HTMLElement} term */
function place(card, term) {
  const { left, top, bottom } = term.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = card;
  const column = term.closest(".lesson")?.getBoundingClientRect();
  if (column && column.left >= width + 2 * GAP) {
    card.style.left = `${column.left - width - GAP}px`;
    card.style.top = `${Math.max(GAP, Math.min(top, innerHeight - height - GAP))}px`;
    return;
  }
  const below = bottom + GAP + height < innerHeight;
  card.style.left = `${Math.max(GAP, Math.min(left, innerWidth - width - GAP))}px`;
  card.style.top = `${Math.max(GAP, below ? bottom + GAP : top - height - GAP)}px`;
}

/** All words as a list, for the help. @param {HTMLElement} root */
export async function drawList(root) {
  const words = await loadWords();
  replace(
    root,
    words.map((word) =>
      h("button", { class: "term", type: "button", dataset: { word: word.id } }, word[language()].word),
    ),
  );
}
