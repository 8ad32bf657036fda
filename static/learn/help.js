/** The list of keys, and the keys that work everywhere: `/` to the sentence, `?` for the list. */

import { h, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { switchRow } from "../ui/switch_row.js";
import { readingIsOn, setReading } from "./reading.js";

const KEYS = [
  [["/"], "help.slash"],
  [["←", "→"], "help.arrows_strip"],
  [["←", "→", "↑", "↓"], "help.arrows_heads"],
  [["←", "→", "↑", "↓"], "help.arrows_matrix"],
  [["←", "→"], "help.arrows_ribbon"],
  [["←", "→", "Home", "End"], "help.arrows_walk"],
  [["Shift", "←", "→"], "help.arrows_page"],
  [["←", "→", "Esc"], "help.arrows_tour"],
  [["Esc"], "help.escape"],
  [["?"], "help.question"],
];

/** @param {HTMLDialogElement} dialog @returns {import("../controls.js").Draw} */
export function createHelp(dialog) {
  const close = h("button", { class: "btn", type: "button", on: { click: () => dialog.close() } }, t("help.close"));
  replace(
    dialog,
    h("div", { class: "bar" }, h("h2", { id: "help-title" }, t("help.title")), h("span", { class: "grow" }), close),
    h("div", { class: "help-more" }, readingRow(), tourButton(dialog)),
    h(
      "dl",
      null,
      KEYS.map(([keys, text]) =>
        h(
          "div",
          null,
          h(
            "dt",
            null,
            keys.map((key) => h("kbd", null, key)),
          ),
          h("dd", null, t(text)),
        ),
      ),
    ),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // beside it
  document.querySelector('[data-part="help"]')?.addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => onKey(event, dialog));
  return () => {};
}

/** Whoever knows the page by heart needs no sentences under its titles. */
function readingRow() {
  const { row, set } = switchRow("reading", t("help.reading"), (on) => {
    setReading(on);
    show();
  });
  const show = () => set(readingIsOn(), t("help.reading_about"), "");
  show();
  return row;
}

/** @param {HTMLDialogElement} dialog */
function tourButton(dialog) {
  const click = () => {
    dialog.close();
    document.dispatchEvent(new CustomEvent("chumoku:tour"));
  };
  return h(
    "button",
    { class: "btn", type: "button", dataset: { testid: "help-tour" }, on: { click } },
    t("tour.button"),
  );
}

/** @param {KeyboardEvent} event @param {HTMLDialogElement} dialog */
function onKey(event, dialog) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const field = /** @type {HTMLElement} */ (event.target);
  if (field.matches?.("input:not([type=range]), textarea, select, [contenteditable]")) {
    if (event.key === "Escape") field.blur();
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    const input = /** @type {HTMLInputElement} */ (document.querySelector('[data-testid="sentence"]'));
    input.focus();
    input.select();
  } else if (event.key === "?" && !dialog.open) {
    event.preventDefault();
    dialog.showModal();
  }
}
