/**
 * The river of the first paint, which the server sent: it lies over the page's own until that is measured, or someone acts. And the key of
 * its lines, which the start page has before there is a river.
 */

import { h, setText } from "../ui/dom.js";
import { t } from "../ui/i18n.js";

/**
 * @typedef {{element: HTMLElement, says: HTMLElement, tokens: HTMLElement|null, height: number, left: number}} FirstPaint
 *   `left`: milliseconds until it has played
 */

/** At most this long after the page's own river is drawn. Milliseconds. */
const MOST = 3000;

/** Takes it out of the outlines of a page, before they are replaced; null: it is not shown. @param {HTMLElement} root @returns {FirstPaint|null} */
export function takeFirstPaint(root) {
  const element = /** @type {HTMLElement|null} */ (root.querySelector(".first"));
  const says = /** @type {HTMLElement|null} */ (root.querySelector(".outlines .says"));
  if (!element?.checkVisibility() || !says) return null;
  const times = element.getAnimations({ subtree: true }).map(({ currentTime, effect }) => ({
    now: Number(currentTime),
    end: Number(effect?.getComputedTiming().endTime),
  }));
  const now = Math.max(0, ...times.map((one) => one.now));
  const left = Math.max(0, ...times.map((one) => one.end)) - now;
  element.style.setProperty("--played", `${now}ms`); // in its new place it goes on where it was
  element.style.height = `${element.offsetHeight}px`; // what it depends on goes with the outlines
  const tokens = /** @type {HTMLElement|null} */ (root.querySelector(".outlines .tokens"));
  return {
    element,
    says,
    tokens,
    height: /** @type {HTMLElement} */ (says.parentElement).offsetHeight,
    left: times.length ? left : 0,
  };
}

/**
 * Keeps it in the page that was built.
 * @param {FirstPaint} first
 * @param {{said: HTMLElement, sentence: {strip: HTMLElement}, panels: Object<string, HTMLElement>, root: HTMLElement}} frame
 * @param {ReturnType<typeof import("../state/store.js").createStore>} store
 */
export function keepFirstPaint(
  { element, says, tokens, height, left },
  { said, sentence, panels: { river }, root },
  store,
) {
  const acting = new AbortController();
  const { signal } = acting;
  let timer = 0;
  const end = performance.now() + left;
  const leave = () => {
    clearTimeout(timer);
    acting.abort();
    element.remove();
    said.style.minHeight = river.style.height = "";
  };
  const leaveAfter = (/** @type {number} */ ms) => {
    clearTimeout(timer);
    timer = Number(setTimeout(leave, ms));
  };
  element.classList.toggle("played", left <= 0);
  river.append(element);
  said.replaceChildren(says);
  if (tokens) {
    tokens.ariaHidden = "true";
    sentence.strip.replaceChildren(tokens);
  }
  said.style.minHeight = `${height}px`; // the rest of its sentence is still to be measured
  const picture = [...element.children].find((one) => one.checkVisibility());
  const room = picture && picture.getBoundingClientRect().bottom - river.getBoundingClientRect().top;
  if (room) river.style.height = `${room}px`; // what is below keeps its place
  for (const event of ["pointerdown", "keydown"]) root.addEventListener(event, leave, { signal, capture: true });
  river.addEventListener("pointermove", leave, { signal });
  store.subscribe(({ start }) => !start && !signal.aborted && leave());
  const drawn = (/** @type {any} */ { detail: { measured } }) => {
    if (!measured) return timer || leaveAfter(MOST);
    river.removeEventListener("drawn", drawn);
    if (end > performance.now()) leaveAfter(end - performance.now());
    else leave();
  };
  river.addEventListener("drawn", drawn, { signal });
}

/** Tells it that the river is drawn. @param {HTMLElement} root @param {boolean} measured */
export const tellDrawn = (root, measured) =>
  root.dispatchEvent(new CustomEvent("drawn", { bubbles: true, detail: { measured } }));

/** Two samples of a line, and what their width and their darkness mean: `sayKey` says it. */
export const riverKey = () =>
  h(
    "p",
    { class: "river-key", dataset: { testid: "river-key" } },
    ["width", "color"].map((name) =>
      h("span", { dataset: { key: name } }, h("i", { class: name, "aria-hidden": true }), h("span")),
    ),
  );

/** In the words of the theme; of a difference, what its colours mean. @param {HTMLElement} key @param {boolean} [changes] */
export function sayKey(key, changes = false) {
  key.classList.toggle("changes", changes);
  for (const one of /** @type {Iterable<HTMLElement>} */ (key.children))
    setText(
      /** @type {HTMLElement} */ (one.lastElementChild),
      t(`river.key_${one.dataset.key}${changes ? "_change" : ""}`),
    );
}
