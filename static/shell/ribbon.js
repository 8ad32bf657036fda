/** The ribbon: the stations of the forward pass as tabs of the opened panel. */

import { atLeast } from "../state/page_fields.js";
import { walkFrom } from "../stations/computation/steps.js";
import { computation } from "../stations/index.js";
import { hasView } from "../stations/view.js";
import { h, newId, replace, setText, update } from "../ui/dom.js";
import { phrase, t } from "../ui/i18n.js";

/**
 * @import { Context, Follow } from "../page.js"
 * @import { Actions, View } from "../stations/view.js"
 */

/** @param {Context} context @returns {Follow} */
export function createRibbon({ actions, views, modelOf, frame }) {
  const root = frame.ribbon;
  const stations = views.filter(({ within }) => !within);
  const tabs = stations.map((view) => tabOf(view, frame.opened.id, actions, modelOf));
  const walk = walkButton(actions, modelOf);
  replace(root, h("div", { class: "stations", role: "tablist", "aria-label": t("ribbon.label") }, tabs), walk.button);

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
  const showOpen = () => {
    const tab = tabs.find((one) => one.getAttribute("aria-selected") === "true");
    if (tab && root.offsetWidth) reveal(root, tab);
  };
  // When the ribbon appears: reading a width while the page loads would make the browser lay out the page once more.
  new ResizeObserver(showOpen).observe(root);
  return (state) => {
    const model = modelOf(state);
    const view = views.find(({ id }) => id === state.view) ?? views[0];
    const open = view?.within?.(state, model) ?? view?.id;
    walk.show(Boolean(view?.within));
    root.hidden = !atLeast(state, "understand");
    stations.forEach((view, i) => {
      tabs[i].hidden = !hasView(view, model, state); // an encoder has no next token
      tabs[i].setAttribute("aria-selected", String(view.id === open));
      tabs[i].tabIndex = view.id === open ? 0 : -1;
      if (view.id === open) frame.opened.setAttribute("aria-labelledby", tabs[i].id);
    });
    if (shown && open !== shown) showOpen();
    shown = open ?? "";
  };
}

/** From a station into the walk at its first step, and back. @param {Actions} actions @param {(state: any) => any} modelOf */
function walkButton(actions, modelOf) {
  const click = () => {
    const state = actions.get();
    const model = modelOf(state);
    actions.set(state.view === "computation" ? { view: computation.within?.(state, model) } : walkFrom(state, model));
  };
  const soon = () => computation.load?.().catch(() => {});
  const on = { click, pointerenter: soon, focus: soon };
  const button = h("button", { class: "btn walk-through", type: "button", dataset: { testid: "walk-through" }, on });
  return {
    button,
    /** @param {boolean} walking */
    show(walking) {
      setText(button, t(walking ? "ribbon.walk_back" : "ribbon.walk"));
      update(button, { "aria-pressed": walking });
    },
  };
}

/** @param {View} view @param {string} opened @param {Actions} actions @param {Context["modelOf"]} modelOf */
function tabOf(view, opened, actions, modelOf) {
  // Pointing at a tab loads its code, so that opening it is fast. What fails is requested again when it is opened.
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

/** Q, K and V keep their colours. @param {string} id */
function wordOf(id) {
  const letter = (/** @type {string} */ name) => h("b", { class: name.toLowerCase() }, name);
  return phrase(`ribbon.${id}`, { Q: letter("Q"), K: letter("K"), V: letter("V") });
}

/** On a phone the ribbon scrolls: scrolls the open station into view without moving the page. @param {HTMLElement} root @param {HTMLButtonElement} tab */
function reveal(root, tab) {
  const middle = tab.offsetLeft + tab.offsetWidth / 2 - root.clientWidth / 2;
  root.scrollTo({ left: Math.max(0, middle), behavior: "smooth" });
}
