/** A document with nothing but the custom properties of css/tokens.css, for tests of what is coloured. */

import { readFileSync } from "node:fs";

export const SHEET = readFileSync(new URL("../../static/css/tokens.css", import.meta.url), "utf8");

/** The properties that a selector sets. @param {string} selector */
const setBy = (selector) =>
  new Map(
    [
      ...SHEET.slice(SHEET.indexOf(`\n${selector} {`))
        .split("\n}")[0]
        .matchAll(/(--[\w-]+): ([^;]+);/g),
    ].map(([, name, value]) => /** @type {const} */ ([name, value])),
  );
const PROPERTIES = { light: setBy(":root"), dark: setBy('[data-theme="dark"]') };

const documentElement = { dataset: { theme: "light" }, lang: "en" };

/** @param {string} name */
const getPropertyValue = (name) =>
  (documentElement.dataset.theme === "dark" && PROPERTIES.dark.get(name)) || (PROPERTIES.light.get(name) ?? "");

/** Makes it the document: other tests, which share the process, have theirs. @param {"light"|"dark"} [theme] */
export function useTheme(theme = "light") {
  documentElement.dataset.theme = theme;
  Object.assign(globalThis, { document: { documentElement }, getComputedStyle: () => ({ getPropertyValue }) });
}
