/**
 * What the header has besides the model, the level and the lesson: at *Everything* on a wide screen in the header
 * itself, else in a menu. It is the same elements in both places: CSS (.more.flat) takes the menu away.
 */

import { createPopover } from "../ui/controls.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { chosenType } from "./large_type.js";

/** @import { State } from "../state/store.js" */

/** Room for all of the header's buttons in one row; in large type, which is zoomed. */
const WIDE = { normal: "(min-width: 901px)", large: "(min-width: 1500px)" };

/** @param {(HTMLElement|null)[]} items @param {(HTMLElement|null)[]} leaving  those of them after which the menu closes */
export function buildMore(items, leaving) {
  const attrs = { "aria-label": t("header.others"), title: t("header.others"), dataset: { testid: "more" } };
  const button = h("button", { class: "btn icon", type: "button", ...attrs }, "⋯");
  const panel = h("div", { class: "more-panel", role: "group", "aria-label": t("header.others") }, items);
  return { element: h("div", { class: "more" }, button, panel), button, panel, leaving };
}

/** @param {ReturnType<typeof buildMore>} parts @returns {(state: State) => void} */
export function createMore({ element, button, panel, leaving }) {
  const popover = createPopover(element, button, panel, () => {});
  const wide = { normal: matchMedia(WIDE.normal), large: matchMedia(WIDE.large) };
  let level = "";
  function show() {
    const flat = level === "everything" && wide[chosenType()].matches;
    // Large type is switched by a button that then is in the menu: it stays in sight, and keeps the focus.
    if (!flat && element.classList.contains("flat") && panel.contains(document.activeElement)) popover.open();
    element.classList.toggle("flat", flat);
  }
  for (const one of Object.values(wide)) one.addEventListener("change", show);
  // What is chosen is seen on the page. Type and theme are tried out, and the export opens a menu of its own.
  panel.addEventListener("click", ({ target }) => {
    if (leaving.some((item) => item?.contains(/** @type {Node} */ (target)))) popover.close();
  });
  return (state) => {
    level = state.level;
    show();
  };
}
