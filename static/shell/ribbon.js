/** The ribbon: the stations of the forward pass as tabs of the opened panel. */

import { atLeast } from "../state/levels.js";
import { hasView } from "../stations/index.js";
import { h, newId, replace } from "../ui/dom.js";
import { phrase, t } from "../ui/i18n.js";

/** @param {import("../page.js").Context} context @returns {import("../page.js").Draw} */
export function createRibbon({ actions, views, modelOf, frame }) {
  const root = frame.ribbon;
  const tabs = views.map((view) => tabOf(view, frame.opened.id, actions, modelOf));
  replace(root, h("div", { class: "stations", role: "tablist", "aria-label": t("ribbon.label") }, tabs));

  root.addEventListener("keydown", (event) => {
    const there = tabs.filter((tab) => !tab.hidden);
    const from = there.indexOf(/** @type {any} */ (document.activeElement));
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: there.length - 1 }[event.key];
    if (to === undefined || from < 0) return;
    event.preventDefault();
    const next = there[(to + there.length) % there.length];
    next.focus();
    actions.set({ view: next.dataset.view });
  });

  let shown = "";
  return (trace, state) => {
    const open = views.some((view) => view.id === state.view) ? state.view : views[0]?.id;
    const model = modelOf(state);
    root.hidden = !atLeast(state, "understand");
    views.forEach((view, i) => {
      tabs[i].hidden = !hasView(view, model, state); // an encoder has no next token
      tabs[i].setAttribute("aria-selected", String(view.id === open));
      tabs[i].tabIndex = view.id === open ? 0 : -1;
      if (view.id === open) frame.opened.setAttribute("aria-labelledby", tabs[i].id);
      if (view.id === open && open !== shown) reveal(root, tabs[i]);
    });
    if (open !== shown && root.offsetWidth) shown = open; // reading its width makes the browser lay out the whole page
  };
}

function tabOf(view, opened, actions, modelOf) {
  // Pointed at, it brings its code: opening it then takes no longer. What fails is asked for again when it is opened.
  const soon = () => view.load?.(actions.get(), modelOf(actions.get())).catch(() => {});
  return h(
    "button",
    {
      type: "button",
      role: "tab",
      id: newId(`tab-${view.id}`),
      "aria-controls": opened,
      dataset: { testid: "station", view: view.id },
      on: { click: () => actions.set({ view: view.id }), pointerenter: soon, focus: soon },
    },
    wordOf(view.id),
  );
}

/** Q, K and V keep their colours. */
function wordOf(id) {
  const letter = (name) => h("b", { class: name.toLowerCase() }, name);
  return phrase(`ribbon.${id}`, { Q: letter("Q"), K: letter("K"), V: letter("V") });
}

/** On a phone the ribbon scrolls: scrolls the open station into view without moving the page. */
function reveal(root, tab) {
  const middle = tab.offsetLeft + tab.offsetWidth / 2 - root.clientWidth / 2;
  root.scrollTo({ left: Math.max(0, middle), behavior: "smooth" });
}
