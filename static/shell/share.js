/**
 * The share button: the address bar already holds the link; this copies it and says so below the button. If the text is too long for
 * a link, a file is offered.
 */

import { isTooLong } from "../state/link.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/i18n.js";

/** @import { Context } from "../page.js" */

const SAID_FOR_MS = 2200;
const OFFERED_FOR_MS = 12_000;
const LOCAL_FOR_MS = 5000;

/** Addresses that other computers do not reach. */
const LOCAL = /^(localhost|127\..+|\[::1\])$/;

/**
 * @param {HTMLButtonElement} button
 * @param {Pick<Context, "address"|"status"> & {canSave: () => boolean, save: () => Promise<string>}} context  `save`
 *   makes a file of what is shown, and returns its name
 */
export function createShare(button, { address, status, canSave, save }) {
  const note = h("span", { class: "share-note", hidden: true, dataset: { testid: "share-note" } });
  button.append(note);
  let timer = 0;
  let offers = false;

  /** @param {string} words @param {number} [ms] */
  function say(words, ms = SAID_FOR_MS) {
    note.textContent = words;
    note.hidden = false;
    status.say(words);
    clearTimeout(timer);
    timer = setTimeout(() => {
      offers = false;
      note.hidden = true;
    }, ms);
  }

  button.addEventListener("click", async () => {
    const link = address.link();
    if (!isTooLong(link)) {
      if (!(await copy(link))) return say(t("header.share_failed"));
      if (!LOCAL.test(location.hostname)) return say(t("header.shared"));
      button.title = t("header.shared_here_about");
      return say(t("header.shared_here"), LOCAL_FOR_MS);
    }
    if (!canSave()) return say(t("header.share_long"));
    if (!offers) {
      offers = true;
      return say(t("header.share_file"), OFFERED_FOR_MS);
    }
    const name = await save().catch(() => null);
    offers = false;
    say(name === null ? t("header.share_not_saved") : t("export.saved", { name }));
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
