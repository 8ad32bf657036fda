/** The share button: the address bar already holds the link; this copies it and says so. */

import { t } from "../ui/i18n.js";

const SAID_FOR_MS = 2200;

/** @param {HTMLButtonElement} button @param {Pick<import("../page.js").Context, "address"|"status">} context */
export function createShare(button, { address, status }) {
  const label = button.textContent;
  let timer = 0;
  button.addEventListener("click", async () => {
    const said = t((await copy(address.link())) ? "header.shared" : "header.share_failed");
    button.style.minWidth = `${button.offsetWidth}px`; // so that the other buttons do not move
    button.textContent = said;
    status.say(said);
    clearTimeout(timer);
    timer = setTimeout(() => (button.textContent = label), SAID_FOR_MS);
  });
}

/** @param {string} text @returns {Promise<boolean>} */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // no clipboard API: plain http on a classroom's network
  }
}

/** @param {string} text */
function copyBySelection(text) {
  const before = /** @type {HTMLElement|null} */ (document.activeElement);
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  (before?.parentElement ?? document.body).append(field); // keeps the focus inside, so that an open menu stays open
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  before?.focus();
  return copied;
}
