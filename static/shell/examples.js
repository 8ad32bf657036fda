/** The examples (static/examples.json): cards on the page without a sentence, and what a card claims over its picture. */

import { isEmpty } from "../model/selection.js";
import { linkOf } from "../state/link.js";
import { DEFAULTS } from "../state/store.js";
import { freshViewState, sameValue } from "../state/view_state.js";
import { h, hide, newId, replace, setText, update } from "../ui/dom.js";
import { keyFor, language, languageName, t } from "../ui/i18n.js";
import { pixelPicture } from "../ui/patch_picture.js";

/**
 * @import { Context, Follow } from "../page.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Declared, ViewStates } from "../state/view_state.js"
 */

/**
 * @typedef {{model: string, text?: string, pixels?: number[][], layer?: number, head?: number, see: Object<string, string>, claim?: object,
 *   at_least?: number, viewState?: ViewStates, [field: string]: any}} Example  fields of the state, and what is said and claimed of it
 */

/** What the app does with a sentence; for a translator, in which languages. @param {any} model */
function aboutOf(model) {
  const languages = (model?.directions ?? []).map((/** @type {string[]} */ [from]) => languageName(from));
  if (!languages.length) return t(keyFor(model, "welcome.about"));
  const either = new Intl.ListFormat([language()], { type: "disjunction" }).format(languages);
  return t("welcome.about_translates", { languages: either });
}

/**
 * All examples: on the page without a sentence, and in a drawer. They are made when they are first shown.
 * @param {Context} context @returns {Follow}
 */
export function createExamples({ actions, examples, models, frame, declared, modelOf }) {
  const { welcome: root, offer } = frame;
  const shown = loadedOf(examples, models);
  const open = (/** @type {Example} */ example) => {
    actions.set(examplePatch(example, declared));
    frame.main.focus({ preventScroll: true });
  };
  const levels = (/** @type {Example} */ example) => models.find(({ name }) => name === example.model)?.picture?.levels;
  let cards = /** @type {HTMLAnchorElement[]} */ ([]);
  const place = h("div", { class: "cards" });
  const about = h("p", { class: "about" });
  const all = h(
    "section",
    { class: "panel examples", "aria-label": t("tools.examples"), hidden: true },
    h("h2", null, t("tools.examples")),
  );
  frame.drawer.append(all);
  replace(root, h("h1", null, t("welcome.title")), about, offer, h("h2", null, t("welcome.start")), place);
  let first = /** @type {string|null|undefined} */ (undefined);
  return (state) => {
    root.hidden = !isEmpty(state);
    all.hidden = state.drawer !== "examples";
    if (root.hidden && all.hidden) return;
    if (!cards.length) cards = shown.map((example) => card(example, levels(example), open));
    (root.hidden ? all : root).append(place);
    setText(about, aboutOf(modelOf(state)));
    // Who has chosen a model sees its examples first; without a choice, they are mixed.
    if (state.model !== first) {
      first = state.model;
      const isOf = (/** @type {number} */ i) => shown[0]?.model !== first && shown[i].model === first;
      const own = cards.filter((_, i) => isOf(i));
      replace(place, [...own, ...cards.filter((card) => !own.includes(card))]);
    }
    cards.forEach((link, i) => update(link, { href: hrefOf(shown[i], declared) }));
  };
}

/** Those whose model the server has. @param {{examples: Example[]}} examples @param {any[]} models */
export const loadedOf = ({ examples }, models) =>
  examples.filter(({ model }) => !model || models.some(({ name }) => name === model));

/**
 * The change that shows an example, whatever is open.
 * @param {any} example  fields of the state, and what is said and claimed of it
 * @param {Declared[]} declared  by the views @returns {Patch}
 */
export function examplePatch({ see, claim, at_least, viewState, ...opened }, declared) {
  const { theme, type, lang, file, quiz, tree, ...fresh } = DEFAULTS; // everything except the reader's settings and texts
  return { ...fresh, ...opened, viewState: freshViewState(declared, viewState) };
}

/** What opens an example. @param {any} example @param {Declared[]} declared */
export const hrefOf = (example, declared) =>
  linkOf(/** @type {any} */ ({ ...DEFAULTS, ...examplePatch(example, declared) }), declared);

/** A card is a link, so that it can also be opened in a new tab. @param {Example} example @param {number|undefined} levels @param {(example: Example) => void} open */
function card(example, levels, open) {
  const { see, claim, model, text, pixels, layer, head } = example;
  const click = (/** @type {PointerEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(example);
  };
  return h(
    "a",
    {
      class: "card",
      dataset: { testid: "example" },
      on: { click },
    },
    pixels && levels ? pixelPicture(pixels, levels) : h("span", { class: "text", lang: "en" }, text),
    h("span", { class: "see" }, see[language()]),
    h(
      "span",
      { class: "role" },
      [model, claim || layer === undefined ? null : t("welcome.open", { layer, head: head ?? 0 })]
        .filter(Boolean)
        .join(" · "),
    ),
  );
}

// Beside the text: which card this is, what it claims, and the way to the cards before and after it.

/** The card of the sentence that is shown; knockouts and other choices do not remove it. @param {any[]} cards @param {State} state */
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
  const words = frame.caption;
  words.id = newId("caption");
  const place = h("button", {
    class: "btn quiet place",
    type: "button",
    "aria-describedby": words.id,
    dataset: { testid: "caption-place" },
  });
  const element = h(
    "div",
    { class: "caption", role: "toolbar", "aria-label": t("caption.label"), hidden: true, on: { keydown } },
    h("div", { class: "way" }, before, place, after),
    words,
  );
  // One tab stop: the arrow keys go through the cards, Escape leaves.
  before.tabIndex = -1;
  after.tabIndex = -1;
  const narrow = matchMedia("(max-width: 1000px)");
  const put = () => (narrow.matches ? frame.body.after(element) : frame.sentence.under.append(element));
  narrow.addEventListener("change", put);
  put();

  /** @param {KeyboardEvent} event */
  function keydown(event) {
    if (event.key === "Escape") {
      event.preventDefault(); // it leaves nothing else
      frame.main.focus({ preventScroll: true });
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    open(at + step);
  }

  return (state) => {
    at = cardOf(cards, state);
    hide(element, at < 0 || state.quiz, frame.main);
    if (element.hidden) return;
    setText(words, cards[at].see[language()]);
    setText(place, t("caption.place", { at: at + 1, n: cards.length }));
    update(before, { "aria-disabled": String(at === 0) });
    update(after, { "aria-disabled": String(at === cards.length - 1) });
  };
}
