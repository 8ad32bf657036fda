/** Large type, for a projector in class: off by default, kept in a cookie. */

import { update } from "../ui/dom.js";
import { remember } from "../ui/remembered.js";

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
