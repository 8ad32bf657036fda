/** Small controls: a button with a popover, a row of choices, a switch, a fold, a list that arrow keys move through, buttons that scroll. */

import { h, hide, measured, newId, setText, update } from "./dom.js";
import { t } from "./i18n.js";

/** @import { Child } from "./dom.js" */

/** The event with which a picture asks the page around it to save it with a caption: `chart/figures.js`, answered by the header. */
export const SAVE = "savefigure";

// A button that opens a panel below it. Escape, a click outside, or leaving it by Tab closes it.

/** @type {Record<string, number>} */
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/**
 * @param {HTMLElement} root  holds both
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} panel
 * @param {() => void|Promise<void>} onOpen  called before it is shown; the arrow keys wait for what it returns
 * @returns {{open: () => void, close: () => void}}
 */
export function createPopover(root, button, panel, onOpen) {
  const set = (/** @type {boolean} */ open) => {
    const filled = open ? onOpen() : undefined;
    panel.hidden = !open;
    update(button, { "aria-expanded": open });
    return filled;
  };
  const close = () => {
    if (panel.hidden) return;
    const inside = panel.contains(document.activeElement);
    set(false);
    if (inside) button.focus();
  };
  set(false);
  button.addEventListener("click", () => set(Boolean(panel.hidden)));
  document.addEventListener("pointerdown", ({ target }) => root.contains(/** @type {Node} */ (target)) || set(false));
  root.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !root.contains(/** @type {Node} */ (relatedTarget))) set(false);
  });
  /** @param {KeyboardEvent} event */
  const leave = (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || panel.hidden) return;
    event.preventDefault();
    close();
  };
  // A button that was disabled when it was pressed has lost the focus: Escape still closes this before it leaves the place.
  document.addEventListener("keydown", (event) => event.target === document.body && leave(event), true);
  root.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return; // for a popover inside this one
    leave(event);
    if (event.key in STEPS && !event.altKey && !event.ctrlKey && !event.metaKey) walk(event);
  });

  /** Up and down among the choices; from the button into the panel. @param {KeyboardEvent} event */
  async function walk(event) {
    event.preventDefault();
    if (panel.hidden) await set(true);
    const items = [...panel.querySelectorAll("button:not([disabled])")].filter((item) => item.checkVisibility());
    const at = items.indexOf(/** @type {any} */ (document.activeElement));
    const to = at < 0 && STEPS[event.key] < 0 ? items.length - 1 : at + STEPS[event.key];
    /** @type {HTMLElement} */ (items[to] ?? button).focus();
  }

  return { open: () => void set(true), close };
}

/**
 * To the button before or after the one with the focus; Home and End to the ends: a listener of the list's keydown.
 * @param {KeyboardEvent} event @param {string} before  a key @param {string} after
 */
export function walkList(event, before, after) {
  const list = /** @type {Element} */ (event.currentTarget);
  const buttons = [...list.querySelectorAll("button")];
  const at = buttons.indexOf(/** @type {any} */ (event.target));
  const to = { [before]: at - 1, [after]: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || at < 0 || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  buttons[to]?.focus();
}

/** The plain button, which a redraw gives its focus back. @param {string} testid @param {string} kind @param {Child} words @param {() => void} click */
export const button = (testid, kind, words, click) =>
  h("button", { class: `btn ${kind}`, type: "button", dataset: { testid, focus: testid }, on: { click } }, words);

// What is wider than its room.

/**
 * Two buttons that scroll it by a page, each there while something is hidden on its side: `say` after a redraw.
 * @param {HTMLElement} scroll @param {(to: number) => number} pageOf  how far to the left (-1) or to the right (1), in pixels
 */
export function createPages(scroll, pageOf) {
  const [before, after] = [-1, 1].map((to) => {
    const name = to < 0 ? "before" : "after";
    const about = t(`pages.${name}`);
    const click = () => {
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      scroll.scrollBy({ left: to * pageOf(to), behavior: calm ? "instant" : "smooth" });
    };
    const attrs = {
      class: `pages ${name}`,
      type: "button",
      tabindex: -1,
      hidden: true,
      title: about,
      "aria-label": about,
    };
    return h("button", { ...attrs, dataset: { testid: `pages-${name}` }, on: { click } }, to < 0 ? "‹" : "›");
  });
  const say = () =>
    measured(
      () => [scroll.scrollLeft > 2, scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 2],
      (hidden) => {
        hide(before, !hidden[0], after);
        hide(after, !hidden[1], before);
      },
    );
  scroll.addEventListener("scroll", say);
  return { before, after, say };
}

// Details on demand: closed until they are asked for.

/** @param {string} name  for tests @param {Child} title @param {...Child} content @returns {HTMLDetailsElement} */
export const buildFold = (name, title, ...content) =>
  h("details", { class: "fold", dataset: { testid: `fold-${name}` } }, h("summary", null, title), content);

// A switch with its meaning and its current effect.

/**
 * @param {string} name @param {string} label @param {(on: boolean) => void} change @param {string} [letter]  with Alt it does the same
 * @returns {{row: HTMLElement, toggle: HTMLButtonElement, set: (on: boolean, about: string, now: string, fixed?: boolean) => void}}  `fixed`: it cannot be switched, and `about` says why
 */
export function switchRow(name, label, change, letter) {
  const about = h("small", { id: newId(`${name}-about`) });
  const now = h("small", { class: "now", "aria-live": "polite", dataset: { testid: `${name}-now` } });
  const toggle = /** @type {HTMLButtonElement} */ (
    h("button", {
      class: "toggle",
      type: "button",
      role: "switch",
      "aria-label": label,
      "aria-describedby": about.id,
      "aria-keyshortcuts": letter ? `Alt+${letter}` : null,
      dataset: { testid: `switch-${name}` },
      on: { click: () => toggle.ariaDisabled !== "true" && change(toggle.getAttribute("aria-checked") !== "true") },
    })
  );
  const keys = letter ? h("kbd", { "aria-hidden": true }, `Alt + ${letter}`) : null;
  const what = h("span", { class: "switch-about" }, about, now, keys);
  const text = h("div", { class: "t", on: { click: () => toggle.click() } }, label, what);
  const row = h("div", { class: "sw", dataset: { switch: name } }, toggle, text);
  // What it means came under the pointer: once it is switched, it no longer covers what changes.
  row.addEventListener("click", () => row.classList.add("acted"));
  for (const end of ["pointerleave", "focusout"]) row.addEventListener(end, () => row.classList.remove("acted"));
  return {
    row,
    toggle,
    set(on, aboutText, nowText, fixed = false) {
      update(toggle, { "aria-disabled": fixed ? "true" : null }); // it still has the focus, which shows why
      toggle.setAttribute("aria-checked", String(on));
      setText(about, aboutText);
      setText(now, nowText);
      now.hidden = !nowText;
    },
  };
}

/**
 * @template {string} Name
 * @param {string} label  what is chosen @param {readonly Name[]} names  the choices
 * @param {string} testid  a button has `${testid}-${name}` @param {(name: Name) => string} word  on its button
 */
export function segment(label, names, testid, word) {
  const button = (/** @type {Name} */ name) =>
    h("button", { type: "button", dataset: { testid: `${testid}-${name}` } }, word(name));
  const buttons = /** @type {Record<Name, HTMLButtonElement>} */ (
    Object.fromEntries(names.map((name) => [name, button(name)]))
  );
  return {
    box: h("div", { class: "seg", role: "group", "aria-label": label }, Object.values(buttons)),
    buttons,
    /** @param {string} on @param {(name: Name) => void} pick @param {(name: Name) => boolean} [has] */
    show(on, pick, has = () => true) {
      for (const name of names) {
        update(buttons[name], { "aria-pressed": name === on, hidden: !has(name) });
        buttons[name].onclick = () => pick(name);
      }
    },
  };
}
