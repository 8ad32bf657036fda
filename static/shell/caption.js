/** Over the picture: what the card of this sentence claims, and the way to the cards before and after it. */

import { sameValue } from "../state/view_state.js";
import { h, hide, setText, update } from "../ui/dom.js";
import { language, t } from "../ui/i18n.js";
import { examplePatch, loadedOf } from "./examples.js";

/**
 * @import { Context, Follow } from "../page.js"
 * @import { State } from "../state/store.js"
 */

/** The card of the sentence that is shown; cuts and another choice leave it there. @param {any[]} cards @param {State} state */
const cardOf = (cards, { model, text, pixels, target, ids, file }) =>
  cards.findIndex(
    (card) =>
      file === null &&
      ids === null &&
      card.model === model &&
      card.text === text &&
      sameValue(card.pixels ?? null, pixels) &&
      (card.target ?? null) === target,
  );

/** @param {Context} context @returns {Follow} */
export function createCaption({ actions, examples, models, frame, declared }) {
  const cards = loadedOf(examples, models);
  let at = -1;
  let closed = -1;
  /** @param {number} to */
  const open = (to) => cards[to] && actions.set(examplePatch(cards[to], declared));
  /** @param {string} name @param {string} sign @param {() => void} click */
  const button = (name, sign, click) =>
    h(
      "button",
      {
        class: "btn quiet",
        type: "button",
        "aria-label": t(`caption.${name}`),
        title: t(`caption.${name}`),
        dataset: { testid: `caption-${name}` },
        on: { click },
      },
      sign,
    );
  const before = button("before", "‹", () => open(at - 1));
  const after = button("after", "›", () => open(at + 1));
  const place = h("span", { class: "dim place" });
  const words = frame.caption;
  const close = button("close", "×", () => {
    closed = at;
    hide(element, true, frame.main);
  });
  const element = h(
    "div",
    { class: "caption", role: "toolbar", "aria-label": t("caption.label"), hidden: true, on: { keydown } },
    h("div", { class: "way" }, before, place, after),
    words,
    close,
  );
  // One tab stop: the arrow keys go through the cards, Escape closes.
  before.tabIndex = -1;
  close.tabIndex = -1;
  frame.panels.beside_pick.before(element);

  /** @param {KeyboardEvent} event */
  function keydown(event) {
    if (event.key === "Escape") {
      event.preventDefault(); // it leaves nothing else
      close.click();
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    open(at + step);
  }

  return (state) => {
    at = cardOf(cards, state);
    if (at !== closed) closed = -1;
    hide(element, at < 0 || at === closed || state.quiz, frame.main);
    if (element.hidden) return;
    setText(words, cards[at].see[language()]);
    setText(place, t("caption.place", { at: at + 1, n: cards.length }));
    update(before, { "aria-disabled": String(at === 0) });
    update(after, { "aria-disabled": String(at === cards.length - 1) });
  };
}
