/** The list of keys, and the keys that work everywhere: `/` goes to the sentence, `?` opens the list. */

import { lazy, once } from "../data/lazily.js";
import { switchRow } from "../ui/controls.js";
import { h, newId, replace, setText } from "../ui/dom.js";
import { errorText } from "../ui/format.js";
import { keyFor, t } from "../ui/i18n.js";
import { bringWords, readingIsOn, setReading } from "./reading.js";

/** @import { Context, Follow } from "../page.js" */

/** In the place of a hidden sentence: the picture, or the button that chooses one. */
const PICTURE = ".picture-kind:not([hidden]) :is(svg[tabindex]:not([hidden]), .picture-tools .btn)";

const SLASH = "help.slash";

/** @type {[string[], string][]} */
const KEYS = [
  [["/"], SLASH],
  [["←", "→"], "help.arrows_strip"],
  [["←", "→", "↑", "↓"], "help.arrows_heads"],
  [["←", "→", "↑", "↓"], "help.arrows_matrix"],
  [["E", "Enter"], "help.pencil"],
  [["←", "→"], "help.arrows_ribbon"],
  [["Alt", "C", "P", "B", "U"], "help.masks"],
  [["←", "→", "Home", "End"], "help.arrows_walk"],
  [["Shift", "←", "→"], "help.arrows_page"],
  [["←", "→", "S", "Esc"], "help.lesson"],
  [["Esc"], "help.escape"],
  [["?"], "help.question"],
];

/** @param {Context} context @returns {Follow} */
export function createHelp(context) {
  const { actions, frame, ground, modelOf } = context;
  const dialog = /** @type {HTMLDialogElement} */ (frame.help);
  const close = h("button", { class: "btn", type: "button", on: { click: () => dialog.close() } }, t("help.close"));
  const title = h("h2", { id: newId("help-title") }, t("help.title"));
  const words = h("div", { class: "word-list", dataset: { testid: "word-list" } });
  const slash = h("dd", null, t(SLASH));
  const listed = once(() => drawWords(words, context));
  const open = () => {
    setText(slash, t(keyFor(modelOf(actions.get()), SLASH)));
    dialog.showModal();
    listed().catch((error) => setText(words, errorText(error)));
  };
  replace(
    dialog,
    h("div", { class: "bar" }, title, h("span", { class: "grow" }), close),
    h("div", { class: "help-more" }, readingRow(frame.root)),
    h("h3", null, t("glossary.title")),
    words,
    h("h3", { class: "help-keys" }, t("help.keys")),
    h(
      "dl",
      { class: "help-keys" },
      KEYS.map(([keys, text]) =>
        h(
          "div",
          null,
          h(
            "dt",
            null,
            keys.map((key) => h("kbd", null, key)),
          ),
          text === SLASH ? slash : h("dd", null, t(text)),
        ),
      ),
    ),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // a click outside the dialog
  frame.header.help.addEventListener("click", open);
  ground.addEventListener("keydown", (event) =>
    onKey(/** @type {KeyboardEvent} */ (event), dialog, frame.sentence.input, open),
  );
  dialog.setAttribute("aria-labelledby", title.id);
  return () => {};
}

/** Readers who know the page can hide the sentences under its titles. @param {HTMLElement} root  of the page */
function readingRow(root) {
  const { row, set } = switchRow("reading", t("help.reading"), (on) => {
    setReading(root, on);
    show();
  });
  const show = () => set(readingIsOn(), t("help.reading_about"), "");
  show();
  return row;
}

/** The glossary. @param {HTMLElement} root @param {Context} context */
async function drawWords(root, context) {
  await bringWords(context);
  await list.load();
  await list.code?.drawList(root);
}

const list = lazy(() => import("./glossary/glossary.js"));

/** @param {KeyboardEvent} event @param {HTMLDialogElement} dialog @param {HTMLTextAreaElement} input  the sentence @param {() => void} open */
function onKey(event, dialog, input, open) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const field = /** @type {HTMLElement} */ (event.target);
  if (field.matches?.("input:not([type=range]), textarea, select, [contenteditable]")) {
    if (event.key === "Escape") field.blur();
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    if (input.hidden) /** @type {any} */ (input.parentElement?.querySelector(PICTURE))?.focus();
    else input.focus();
    input.select();
  } else if (event.key === "?" && !dialog.open) {
    event.preventDefault();
    open();
  }
}
