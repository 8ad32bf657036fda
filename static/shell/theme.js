/** Light or dark: the system's choice until the reader chooses; then theirs, kept in a cookie (theme.js reads it). */

import { remember } from "../ui/cookies.js";

const system = () => matchMedia("(prefers-color-scheme: dark)");
const systemTheme = () => (system().matches ? "dark" : "light");

/** What was chosen: by this visit's address or an earlier click. @returns {"system"|"light"|"dark"} */
export function chosenTheme() {
  const asked = new URLSearchParams(location.search).get("theme");
  if (asked === "light" || asked === "dark") return asked;
  return /** @type {any} */ (document.cookie.match(/(?:^|; )theme=(light|dark)/)?.[1] ?? "system");
}

/** The other theme; back at the system's, its choice is followed again. @returns {"system"|"light"|"dark"} */
export function switchTheme() {
  const root = document.documentElement;
  const next = root.dataset.theme === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  const chosen = next === systemTheme() ? "system" : next;
  remember("theme", chosen === "system" ? null : chosen);
  return chosen;
}

/** Follow the system when it changes and nothing was chosen here. @param {() => void} changed */
export function onSystemTheme(changed) {
  system().addEventListener("change", () => {
    if (chosenTheme() !== "system") return;
    document.documentElement.dataset.theme = systemTheme();
    changed();
  });
}
