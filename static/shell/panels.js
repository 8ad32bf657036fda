/** The opened panel with its stations, and the other panels: each is drawn when the trace has what it needs. */

import { named } from "../model/taps.js";
import { guarded, h, replace, setText } from "../ui/dom.js";
import { errorText } from "../ui/format.js";
import { keyFor, t } from "../ui/i18n.js";
import { isModel } from "../views/places.js";
import { hasView } from "../views/view.js";
import { rehearse } from "./rehearsal.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { Actions, Panel, View } from "../views/view.js"
 * @import { Frame } from "./frame.js"
 */

/** What an open head is drawn by. */
export const HEAD_VIEWS = ["attention", "inspector"];

/**
 * @param {View[]} views
 * @param {Panel[]} sidePanels
 * @param {Actions} actions
 * @param {(state: State) => any} modelOf
 * @param {Frame} frame
 * @param {(root: HTMLElement, id: string, model: any) => void} drawn  called when a view has drawn
 */
export function createPanels(views, sidePanels, actions, modelOf, frame, drawn) {
  const { opened } = frame;
  /** The element of each station: put into the page when it is first opened. */
  const stations = new Map(views.map((view) => [view, h("div", { class: "station", dataset: { station: view.id } })]));
  /** @param {View} view */
  const stationOf = (view) => /** @type {HTMLElement} */ (stations.get(view));
  const sides = sidePanels.map((view) => sideOf(view, frame.panels[view.id]));
  /** @type {WeakMap<HTMLElement, {available: Set<string>, also: number}>} the load in which each root was drawn, and how much of what it
   * can be drawn without it had: once per load, and again when more has come */
  const drawnIn = new WeakMap();

  const openView = (/** @type {State} */ state) => views.find((view) => view.id === state.view) ?? views[0];
  const isShown = (/** @type {Panel} */ view, /** @type {State} */ state) =>
    hasView(view, modelOf(state), state) && (view.shown?.(state) ?? true);
  const opens = (/** @type {State} */ state) => !isModel(state) && hasView(openView(state), modelOf(state), state);

  /** Shows the panels of a state, and hides the others. @param {State} state */
  function arrange(state) {
    for (const { view, panel, root } of sides) {
      const is = isShown(view, state);
      if (!is || !view.shown) panel.hidden = !is; // a panel that comes and goes appears when it is drawn
      if (is) sayWhatWaits(root, view.frame, modelOf(state));
      else panel.setAttribute("aria-busy", "false"); // nothing will arrive for it
    }
    opened.hidden = !opens(state);
    if (!opened.hidden) open(openView(state));
  }

  /** The panels of any state, including one that the page may get to. @param {State} state */
  function shownIn(state) {
    const view = openView(state);
    const beside = sides.filter((side) => isShown(side.view, state));
    return opens(state)
      ? [{ view, panel: opened, root: stationOf(view), lacks: undefined, drawer: false }, ...beside]
      : beside;
  }

  /** @param {State} state @param {boolean} [alone]  only the open view */
  const drawnNow = (state, alone) => shownIn(state).filter(({ panel }) => !alone || panel === opened);

  /** Show one station and hide the others. @param {View} view */
  function open(view) {
    if (stationOf(view).parentElement !== opened) opened.append(stationOf(view));
    for (const [other, root] of stations) root.hidden = other !== view;
  }

  /** How far a view is: whether its needs are met, and whether it is due to be drawn, for the first time or with more. @param {View} view @param {HTMLElement} root @param {ModelTrace} trace @param {State} state @param {Set<string>} available */
  function progress(view, root, trace, state, available) {
    const all = needsOf(view, state, trace.model);
    const needs = view.saysWhatLacks ? all.filter((need) => trace.lacks(need) === null) : all;
    const complete = needs.every((need) => available.has(need));
    const also = alsoOf(view, state, trace.model).filter((need) => available.has(need)).length;
    const last = drawnIn.get(root);
    const done = last !== undefined && last.available === available && last.also === also;
    return { needs, complete, also, due: complete && !done };
  }

  /** @param {ReturnType<typeof shownIn>[number]} one @param {ModelTrace} trace @param {State} state @param {Set<string>} available */
  function drawOne({ view, panel, root, lacks, drawer }, trace, state, available) {
    const { needs, complete, also, due } = progress(view, root, trace, state, available);
    const why = whatLacks(trace, needs);
    if (sayWhatLacks(root, why && lacks ? t(keyFor(trace.model, lacks), { why }) : why)) {
      panel.setAttribute("aria-busy", "false");
      if (drawer) panel.hidden = false; // it says to whoever opened it why it is empty
      return;
    }
    panel.setAttribute("aria-busy", String(!complete));
    if (!due) return;
    drawnIn.set(root, { available, also });
    panel.hidden = false;
    guarded(safely(root), () => {
      view.draw(root, trace, state, actions);
      drawn(root, view.id, trace.model);
    });
  }

  return {
    /** The element of the open station. @param {State} state */
    station: (state) => stationOf(openView(state)),

    /** Bring the code of these views. @param {State} state @param {string[]} ids */
    load(state, ids) {
      const asked = [...views, ...sidePanels].filter(
        (view) => ids.includes(view.id) && hasView(view, modelOf(state), state),
      );
      return Promise.all(asked.map((view) => view.load?.(state, modelOf(state))));
    },

    /** Draws the views of an open head once, unseen, so that the first one is not the slowest. @param {ModelTrace} trace @param {State} state */
    rehearse(trace, state) {
      const parts = shownIn(state).filter(({ view }) => HEAD_VIEWS.includes(view.id));
      const withNeeds = parts.map(
        ({ view }) => /** @type {[View, string[]]} */ ([view, needsOf(view, state, trace.model)]),
      );
      rehearse(actions.page, withNeeds, trace, state, actions);
    },

    /** Brings the code of every view: what is shown of a file must not need the server later. */
    loadAll: () => Promise.all([...views, ...sidePanels].map((view) => view.load?.())),

    /** What the panels of a state need. @param {State} state @returns {Set<string>} */
    needs: (state) =>
      new Set(
        shownIn(state).flatMap(({ view }) => [
          ...needsOf(view, state, modelOf(state)),
          ...alsoOf(view, state, modelOf(state)),
        ]),
      ),

    arrange,

    /** Whether `draw` would draw anything now. @param {ModelTrace} trace @param {State} state @param {Set<string>} available @param {boolean} [alone] */
    isDue: (trace, state, available, alone) =>
      drawnNow(state, alone).some(({ view, root }) => progress(view, root, trace, state, available).due),

    /** Draws what can be drawn; the other panels keep their last picture and show that they are busy. `available` grows while one
     * state is being loaded. `alone`: only the open view. @param {ModelTrace} trace @param {State} state @param {Set<string>} available @param {boolean} [alone] */
    draw(trace, state, available, alone) {
      for (const one of drawnNow(state, alone)) drawOne(one, trace, state, available);
    },

    /** Marks all panels as busy, or as up to date. @param {boolean} busy */
    busy(busy) {
      for (const panel of [opened, ...sides.map((side) => side.panel)]) panel.setAttribute("aria-busy", String(busy));
    },
  };
}

/** An error in one view stays in that view: it is shown there, and the rest of the page keeps working. @param {HTMLElement} root */
const safely = (root) => (/** @type {() => void} */ draw) => {
  const failed = root.parentElement?.querySelector(":scope > .panel-error");
  try {
    draw();
    failed?.remove();
  } catch (error) {
    console.error(error);
    const text = t("error.no_draw", { message: /** @type {Error} */ (error).message });
    if (failed) setText(failed, text);
    else root.after(h("p", { class: "panel-error", role: "alert" }, text));
  }
};

/** Why there is nothing to draw: a saved trace lacks it, or the server refused it. @param {ModelTrace} trace @param {string[]} needs */
function whatLacks(trace, needs) {
  const key = needs.map(trace.lacks).find(Boolean);
  if (key) return t(key);
  const asked = needs
    .filter((need) => need.startsWith("explain:"))
    .map((need) => trace.explained[need.slice("explain:".length)]);
  const error = asked.find((answer) => answer?.refused)?.refused;
  return error ? errorText(error) : null;
}

/** Show a text in its place. @param {HTMLElement} root @param {string|null} text */
function sayWhatLacks(root, text) {
  const said = root.parentElement?.querySelector(":scope > .panel-lacks");
  root.classList.toggle("lacking", text !== null);
  if (text === null || root.hidden) said?.remove();
  else if (said) setText(said, text);
  else root.after(h("p", { class: "panel-lacks" }, text));
  return text !== null;
}

/** What css/river.css shows in a place that is still empty. @param {HTMLElement} root @param {Panel["frame"]} frame @param {any} model */
function sayWhatWaits(root, { waits, fails }, model) {
  if (waits && fails) Object.assign(root.dataset, { waits: t(keyFor(model, waits)), fails: t(keyFor(model, fails)) });
}

/** The needs that a view does not wait for: it is drawn again when they have arrived. @param {View} view @param {State} state @param {any} model @returns {string[]} */
const alsoOf = (view, state, model) => view.also?.(state, model) ?? [];

/** @param {View} view @param {State} state @param {any} model */
function needsOf(view, state, model) {
  const needs = typeof view.needs === "function" ? view.needs(state, model) : view.needs;
  const code = view.load ? [`code:${view.id}`] : [];
  return [...code, ...needs.map((need) => named(need, state, model))];
}

/**
 * A separate panel: the view's root is inside it, so that there is space for an error next to the root.
 * @param {Panel} view @param {HTMLElement} panel
 */
function sideOf(view, panel) {
  const root = h("div", { class: "station", dataset: { station: view.id } });
  replace(panel, root);
  return { view, panel, root, lacks: view.frame.lacks, drawer: view.frame.place === "drawer" };
}
