/** The card of a word: what it means, and a way to its station. One for each page. */

import { raisedTo } from "../../state/levels.js";
import { h, newId, replace, setText } from "../../ui/dom.js";
import { language, t } from "../../ui/i18n.js";
import { STATIONS } from "../stations.js";
import { loadWords, wordCalled } from "./glossary.js";

/** @import { Context } from "../../page.js" */

const GAP = 8;

/** @param {Context} context */
export function createCard({ actions, frame, ground }) {
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
      const state = actions.get();
      const level = raisedTo(state, "understand"); // the first that has stations
      actions.set({ ...STATIONS[word.station], level });
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

/** In a lesson beside its words; elsewhere below the word, or above it. @param {HTMLElement} card @param {HTMLElement} term */
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
