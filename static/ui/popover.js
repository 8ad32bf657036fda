/** A button that opens a panel below it. Escape, a click outside, or leaving it by Tab closes it. */

import { update } from "./dom.js";

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/**
 * @param {HTMLElement} root  holds both
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} panel
 * @param {() => void|Promise<void>} onOpen  called before it is shown; the arrow keys wait for what it returns
 * @returns {{open: () => void, close: () => void}}
 */
export function createPopover(root, button, panel, onOpen) {
  const set = (open) => {
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
  button.addEventListener("click", () => set(panel.hidden));
  document.addEventListener("pointerdown", ({ target }) => root.contains(/** @type {Node} */ (target)) || set(false));
  root.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !root.contains(/** @type {Node} */ (relatedTarget))) set(false);
  });
  root.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return; // for a popover inside this one
    if (event.key === "Escape" && !panel.hidden) {
      event.preventDefault();
      close();
    }
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
