/** Light or dark: the system's choice until the reader chooses; then theirs, kept in a cookie (theme.js reads it). */

import { update } from "../ui/dom.js";
import { remember } from "../ui/remembered.js";

// Large type, for a projector in class: off by default, kept in a cookie.

/** The size that the server rendered; it reads the cookie. @returns {"normal"|"large"} */
export function chosenType() {
  return document.documentElement.dataset.type === "large" ? "large" : "normal";
}

/** @param {HTMLElement} button @param {(type: "normal"|"large") => void} changed */
export function createLargeType(button, changed) {
  const show = () => update(button, { "aria-pressed": chosenType() === "large" });
  show();
  button.addEventListener("click", () => {
    const next = chosenType() === "large" ? "normal" : "large";
    if (next === "large") document.documentElement.dataset.type = next;
    else delete document.documentElement.dataset.type;
    remember("type", next === "large" ? next : null);
    show();
    changed(next);
  });
}

const system = () => matchMedia("(prefers-color-scheme: dark)");
const systemTheme = () => (system().matches ? "dark" : "light");

/** The reader's choice: from this visit's address or an earlier click. @returns {"system"|"light"|"dark"} */
export function chosenTheme() {
  const asked = new URLSearchParams(location.search).get("theme");
  if (asked === "light" || asked === "dark") return asked;
  return /** @type {any} */ (document.cookie.match(/(?:^|; )theme=(light|dark)/)?.[1] ?? "system");
}

/** Switches the theme. After switching back to the system's theme, the page follows the system again. @returns {"system"|"light"|"dark"} */
export function switchTheme() {
  const root = document.documentElement;
  const next = root.dataset.theme === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  const chosen = next === systemTheme() ? "system" : next;
  remember("theme", chosen === "system" ? null : chosen);
  return chosen;
}

/** Follows the system's changes while the reader has made no choice. @param {() => void} changed */
export function onSystemTheme(changed) {
  system().addEventListener("change", () => {
    if (chosenTheme() !== "system") return;
    document.documentElement.dataset.theme = systemTheme();
    changed();
  });
}
