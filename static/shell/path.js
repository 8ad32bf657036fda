/** The line of the path: where the page is in the model, the way up, and what is inside. */

import { widthOf } from "../chart/theme.js";
import { attentionOf, attentionsOf, stacksOf } from "../model/description.js";
import { isEmpty } from "../model/selection.js";
import { sceneOf } from "../river/board.js";
import { bottomOf } from "../river/layout/heads.js";
import { openingLayer, riverState } from "../river/view_state.js";
import { coveredOf, h, keepingFocus, newId, replace, setText, update } from "../ui/dom.js";
import { phrase, t } from "../ui/i18n.js";
import { walkFrom } from "../views/computation/steps.js";
import { computation, VIEWS } from "../views/index.js";
import { isModel, outward, placeNamed, placeOf } from "../views/places.js";
import { hasView } from "../views/view.js";
import { attentionState, pencilDown } from "../views/view_states.js";
import { cssPixels, slidesOf } from "./frame.js";

/**
 * @import { Attention, Model } from "../model/description.js"
 * @import { Context, Follow } from "../page.js"
 * @import { Square } from "../river/layout/heads.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Actions, View } from "../views/view.js"
 */

/** @typedef {{name: string, text: string, patch: Patch|null}} Crumb  `patch`: what opens it; null: it is open */

/** Between the tabs and what follows; the sign of the button that plays, with the gap to its word; the size of its word (--text-label); the list that stands for a few. Pixels. */
const [GAP, SIGN, SMALL, LIST] = [8, 28, 12, 16];

/** Where not all tabs have room, these are in a list. */
const RARE = ["tokens", "residual"];

/** From the model to what is open. @param {State} state @param {Model} model @returns {Crumb[]} */
export function crumbsOf(state, model) {
  const { name, layer } = placeOf(state);
  const up = riverState.of(state).shown || isModel(state); // is there a picture of the whole?
  const whole = up ? [{ name: "model", text: t("place.model"), patch: openingLayer(null) }] : [];
  if (isModel(state)) {
    const [stack, n] = riverState.of(state).layer?.split(".") ?? [];
    return ended(
      stack === undefined ? whole : [...whole, { name: "layer", text: layerText(model, stack, n), patch: null }],
    );
  }
  if (!layer)
    return ended([
      ...whole,
      {
        name,
        text: t(name === "tools" || state.view === "tokens" ? `ribbon.${state.view}` : `place.${name}`),
        patch: null,
      },
    ]);
  const open = attentionOf(model, state.attention);
  const { stack } = open;
  const inLayer = {
    name: "layer",
    text: layerText(model, stack, state.layer),
    patch: up ? openingLayer({ stack, layer: state.layer }) : null,
  };
  return ended([
    ...whole,
    inLayer,
    { name, text: name === "ffn" ? t("place.ffn") : headText(model, open, state), patch: null },
  ]);
}

/** The longest path that leads to a head: "Model › Layer 5 › Head 5·7". @param {State} state @param {Model} model */
export function deepestOf(state, model) {
  const paths = attentionsOf(model).map(({ id, n_layer: layers, n_head: heads }) => {
    const place = { ...state, view: "attention", attention: id, layer: layers - 1, head: heads - 1 };
    return crumbsOf(place, model)
      .map(({ text }) => text)
      .join(" › ");
  });
  return paths.reduce((longest, path) => (path.length > longest.length ? path : longest), "");
}

/**
 * What a link names and the model lacks, and what is shown instead; null: it has the place.
 * @param {State} asked  as the link says @param {State} shown  fitted to the model @param {Model} model
 * @returns {{asked: string, used: string}|null}
 */
export function lackedPlace(asked, shown, model) {
  const isView = VIEWS.some(({ id }) => id === asked.view); // a link may say anything
  const view = isView ? asked.view : shown.view;
  const named = (/** @type {State} */ state) => {
    const words = crumbsOf(state, model).flatMap(({ name, text }) => (name === "model" ? [] : text));
    if (view !== shown.view && !isModel(state)) words.push(t(`ribbon.${state.view}`, { Q: "Q", K: "K", V: "V" }));
    return [...new Set(words)].join(" › ");
  };
  const places = { asked: named({ ...asked, view }), used: named(shown) || t("place.model") };
  return places.asked === "" || places.asked === places.used ? null : places; // "": the whole model, which is no place in it
}

/** "Head 5·7"; in a stack with two attentions, "Cross head 5·7". @param {Model} model @param {Attention} open @param {State} state */
function headText(model, { stack, queries, keys, n_head: heads }, { layer, head: n }) {
  if (heads === 1) return t("place.head");
  const one = attentionsOf(model).filter((other) => other.stack === stack).length === 1;
  return t(one ? "place.head_of" : queries === keys ? "place.head_self" : "place.head_cross", { layer, n });
}

/** "Layer 2"; of a model with two stacks, "Decoder 2". @param {Model} model @param {string} stack @param {string|number} n */
const layerText = (model, stack, n) => t(stacksOf(model).length > 1 ? `place.layer_${stack}` : "place.layer", { n });

/** The last one is open. @param {Crumb[]} crumbs */
const ended = (crumbs) => crumbs.map((crumb, i) => (i < crumbs.length - 1 ? crumb : { ...crumb, patch: null }));

/** What is pressed stays under the finger: the browser would scroll by what unfolds, to keep what stands below it. @param {HTMLElement} root */
function keepingScroll(root) {
  root.style.overflowAnchor = "none";
  requestAnimationFrame(() => requestAnimationFrame(() => root.style.removeProperty("overflow-anchor")));
}

/** @param {Context} context @returns {Follow} */
export function createPath({ actions, modelOf, frame, ground }) {
  const { trail, crumbs, stations: room, inside, unfold, element } = frame.path;
  let unfolded = false; // on a phone: what stands there in a second line
  unfold.addEventListener("click", () => {
    keepingScroll(frame.root);
    unfolded = element.classList.toggle("unfolds");
    update(unfold, { "aria-expanded": unfolded });
  });
  const stations = VIEWS.filter(({ id, within }) => !within && placeNamed(id) !== "tools" && id !== "model");
  const tabs = stations.map((view) => tabOf(view, frame.opened.id, actions, modelOf));
  const walk = walkButton(actions, modelOf);
  replace(inside, tabs);
  inside.after(walk.button);
  const list = listOf(actions, modelOf); // where there is no room for the tabs
  inside.after(list.element);
  const arrive = arriving(frame);
  const uncover = uncovering(frame);
  /** Tab comes to the tab of what is open; where that is in the list, to the first. */
  const reach = () => {
    const few = room.classList.contains("few");
    const there = tabs.filter((tab) => !tab.hidden && !(few && RARE.includes(tab.dataset.view ?? "")));
    const stop = there.find(({ ariaSelected }) => ariaSelected === "true") ?? there[0];
    for (const tab of tabs) update(tab, { tabindex: tab === stop ? 0 : -1 });
  };
  let whole = false; // the whole model is shown: its places are in the picture
  /** All tabs are in sight, or a list stands for the rare ones, or for all: the room is the same with edits and without. */
  const fit = () => {
    const width = room.clientWidth - GAP - SIGN;
    const wide = (/** @type {HTMLElement[]} */ some) => some.reduce((sum, { offsetWidth }) => sum + offsetWidth, 0);
    const all = wide(tabs);
    const most = all - wide(tabs.filter(({ dataset: { view } }) => RARE.includes(view ?? ""))) + LIST;
    const word = widthOf(t("ribbon.walk_brief"), SMALL, "--font");
    const [few, folded] = [all + word > width, whole || Math.min(all, most) > width];
    room.classList.toggle("few", few);
    room.classList.toggle("folded", folded);
    list.fold(few && !folded);
    reach();
    room.classList.toggle("no-walk", word > width - (folded ? list.element.offsetWidth : few ? most : all));
  };
  new ResizeObserver(fit).observe(room);
  let shown = "";
  inside.addEventListener("keydown", (event) => walkTabs(event, tabs, actions, modelOf));
  ground.addEventListener("keydown", (event) => {
    const { key, defaultPrevented, target } = /** @type {KeyboardEvent} */ (event);
    if (key !== "Escape" || defaultPrevented || /** @type {Element} */ (target).closest?.("textarea, input, dialog"))
      return;
    if (actions.get().lesson !== null || frame.opened.classList.contains("full")) return; // they have it themselves
    const patch = escaped(actions.get(), modelOf(actions.get()));
    if (!patch) return;
    event.preventDefault();
    actions.set(patch);
  });

  return (state) => {
    const model = modelOf(state);
    frame.root.dataset.place = placeOf(state).name;
    frame.say.hidden = state.quiz; // a quiz asks for the answer that it says
    element.hidden = isEmpty(state);
    element.classList.toggle("long", stacksOf(model).length > 1 && placeOf(state).layer);
    const needs = state.padCount > 0 || !state.padMask || state.view === "computation"; // which it ends
    const unfolds = unfolded || needs;
    element.classList.toggle("needs-two", needs);
    element.classList.toggle("unfolds", unfolds);
    update(unfold, { "aria-expanded": unfolds });
    frame.dock.hidden = isEmpty(state) || model.description.predicts === "none" || state.file !== null; // its room, before it is drawn
    frame.masks.element.hidden = frame.sentence.edit.hidden = state.file !== null; // a saved trace is as it is
    frame.heads.element.hidden = placeNamed(state.view) !== "head"; // also while the walk is elsewhere: it stays where it is
    frame.body.classList.toggle("whole", isModel(state));
    update(frame.skip, { href: `#${(isEmpty(state) ? frame.welcome : frame.main).id}` });
    keepingFocus(crumbs, () =>
      replace(
        crumbs,
        crumbsOf(state, model).map((crumb, i, all) => [
          i > 0 && sep(),
          crumbNode(crumb, i === all.length - 1 ? "location" : null, actions),
        ]),
      ),
    );
    update(trail, { "data-deepest": deepestOf(state, model) });
    const view = VIEWS.find(({ id }) => id === state.view);
    const open = view?.within?.(state, model) ?? view?.id;
    const offered = stations.filter((one) => hasView(one, model, state));
    stations.forEach((one, i) => {
      const on = one.id === open;
      tabs[i].hidden = !offered.includes(one); // an encoder has no next token
      update(tabs[i], { "aria-selected": String(on) });
      if (on) frame.opened.setAttribute("aria-labelledby", tabs[i].id);
    });
    list.show(
      tabs.filter((_, i) => offered.includes(stations[i])),
      open,
    );
    reach();
    walk.show(Boolean(view?.within));
    whole = isModel(state);
    const now = `${whole} ${open} ${offered.length}`;
    if (shown && now !== shown) requestAnimationFrame(fit); // with the layout of the frame; the first is observed
    shown = now;
    arrive(state);
    uncover(state);
  };
}

/** The views of a place as a list to choose from. @param {Actions} actions @param {Context["modelOf"]} modelOf */
function listOf(actions, modelOf) {
  const change = () => element.value && actions.set(opening(element.value, actions.get(), modelOf(actions.get())));
  const attrs = { class: "inside-list", "aria-label": t("path.inside"), dataset: { testid: "station-list" } };
  const element = /** @type {HTMLSelectElement} */ (h("select", { ...attrs, on: { change } }));
  let [drawn, rareAlone] = ["", false];
  let last = /** @type {{tabs: HTMLElement[], open: string|undefined}} */ ({ tabs: [], open: "" });
  function draw() {
    const { tabs, open = "" } = last;
    const listed = tabs.filter(({ dataset: { view } }) => !rareAlone || RARE.includes(view ?? ""));
    const ids = listed.map(({ dataset }) => dataset.view ?? "");
    const now = `${rareAlone} ${ids}`;
    if (drawn !== now) {
      const none = h("option", { value: "", hidden: true }, rareAlone ? "…" : t("path.go"));
      const options = listed.map((tab, i) => h("option", { value: ids[i] }, tab.textContent));
      replace(element, none, options);
    }
    drawn = now;
    const holds = ids.includes(open);
    element.classList.toggle("holds", holds);
    element.value = holds && !rareAlone ? open : "";
  }
  return {
    element,
    /** @param {HTMLElement[]} tabs  that are offered @param {string|undefined} open */
    show(tabs, open) {
      last = { tabs, open };
      draw();
    },
    /** Whether it stands for the rare ones alone. @param {boolean} alone */
    fold(alone) {
      if (alone === rareAlone) return;
      rareAlone = alone;
      draw();
    },
  };
}

/** What Escape leaves: an open drawer, the pencil that the reader took, then a place. @param {State} state @param {Model} model @returns {Patch|null} */
export function escaped(state, model) {
  if (state.drawer !== null) return { drawer: null };
  const draws = attentionState.of(state).pencil === "on";
  if (draws && state.view === "attention" && state.file === null && !state.compare) return { viewState: pencilDown };
  return riverState.of(state).shown ? outward(state, model) : null;
}

const sep = () => h("span", { class: "sep", "aria-hidden": true }, "›");

/** @param {Crumb} crumb @param {"location"|null} current @param {Actions} actions */
function crumbNode({ name, text, patch }, current, actions) {
  const data = { testid: `crumb-${name}`, focus: name };
  if (!patch) return h(current ? "b" : "span", { "aria-current": current, dataset: { testid: `crumb-${name}` } }, text);
  return h("button", { class: "crumb", type: "button", dataset: data, on: { click: () => actions.set(patch) } }, text);
}

/**
 * The change that opens a view: from the whole river, in the layer that is open there.
 * @param {string} view @param {State} state @param {Model} model @returns {Patch}
 */
function opening(view, state, model) {
  const [stack, layer] = (isModel(state) && riverState.of(state).layer?.split(".")) || [];
  const ofStack = attentionsOf(model).filter((one) => one.stack === stack);
  if (!ofStack.length) return { view };
  const { id } = ofStack.find((one) => one.id === state.attention) ?? ofStack[ofStack.length - 1];
  return { view, attention: id, layer: Number(layer) };
}

/** Arrow keys among the tabs. @param {KeyboardEvent} event @param {HTMLButtonElement[]} tabs @param {Actions} actions @param {Context["modelOf"]} modelOf */
function walkTabs(event, tabs, actions, modelOf) {
  const there = tabs.filter((tab) => !tab.hidden && tab.checkVisibility({ visibilityProperty: true }));
  const from = there.indexOf(/** @type {any} */ (document.activeElement));
  const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: there.length - 1 }[event.key];
  if (to === undefined || from < 0) return;
  event.preventDefault();
  const next = there[(to + there.length) % there.length];
  next.focus();
  actions.set(opening(String(next.dataset.view), actions.get(), modelOf(actions.get())));
}

/** From a view into the walk, which plays, and back to where it was pressed. @param {Actions} actions @param {(state: any) => any} modelOf */
function walkButton(actions, modelOf) {
  let from = /** @type {{view: string, top: number}|null} */ (null); // null: a link opened it
  const click = () => {
    const state = actions.get();
    const model = modelOf(state);
    const walking = state.view === "computation";
    const [began, top] = [from, scrollY];
    actions.set(walking ? { view: began?.view ?? computation.within?.(state, model) } : walkFrom(state, model));
    if (walking && began) requestAnimationFrame(() => scrollTo({ top: began.top, behavior: "instant" }));
    from = walking ? null : { view: state.view, top };
  };
  const soon = () => computation.load?.().catch(() => {});
  const on = { click, pointerenter: soon, focus: soon };
  const sign = h("span", { "aria-hidden": "true", class: "sign" });
  const words = h("span", { class: "words" });
  const attrs = { class: "btn walk-through", type: "button", dataset: { testid: "walk-through" }, on };
  const button = h("button", attrs, h("span", { class: "label" }, sign, words));
  return {
    button,
    /** @param {boolean} walking */
    show(walking) {
      if (!walking) from = null; // left in another way
      setText(words, t(walking ? "ribbon.walk_back" : "ribbon.walk_brief"));
      setText(sign, walking ? "■" : "▶");
      update(button, { "aria-pressed": walking, title: t(walking ? "ribbon.walk_back" : "ribbon.walk") });
    },
  };
}

/** @param {View} view @param {string} opened @param {Actions} actions @param {Context["modelOf"]} modelOf */
function tabOf(view, opened, actions, modelOf) {
  // Pointed at, it brings its code: opening it then takes no longer. What fails is asked for again when it is opened.
  const soon = () => view.load?.(actions.get(), modelOf(actions.get())).catch(() => {});
  const patch = () => opening(view.id, actions.get(), modelOf(actions.get()));
  return h(
    "button",
    {
      type: "button",
      class: RARE.includes(view.id) ? "rare" : "",
      role: "tab",
      id: newId(`tab-${view.id}`),
      "aria-controls": opened,
      dataset: { testid: "station", view: view.id },
      on: {
        click: () => actions.set(patch()),
        pointerenter: soon,
        pointerdown: ({ button, pointerType }) =>
          button === 0 && pointerType !== "touch" && actions.soon([patch()]).catch(() => {}), // a finger may scroll
        focus: soon,
      },
    },
    wordOf(view.id),
  );
}

/** Q, K and V keep their colours. @param {string} id */
function wordOf(id) {
  const letter = (/** @type {string} */ name) => h("b", { class: name.toLowerCase() }, name);
  return phrase(`ribbon.${id}`, { Q: letter("Q"), K: letter("K"), V: letter("V") });
}

// Where the page of a phone scrolls by itself: to a place that is opened, and above the edits, which lie over its foot.

/** @typedef {State["interventions"][number]} Edit @typedef {Edit["where"]} Where */

/** What makes another place of it. */
const PARTS = /** @type {const} */ (["view", "attention", "layer", "head", "start"]);

/**
 * Where one arrives on a phone: who opens a place sees its sentence and the top of its picture, with nothing above them but what stays in
 * sight; who comes back to the whole model sees the top of the page.
 * @param {Context["frame"]} frame @returns {Follow}
 */
function arriving(frame) {
  const { root } = frame;
  const phone = matchMedia("(max-width: 760px)");
  let was = /** @type {State|null} */ (null);
  const above = () => aboveOf(frame);
  return (state) => {
    const before = was;
    was = state;
    if (!before || before.lesson !== null || state.lesson !== null || isEmpty(state) || !phone.matches) return;
    const asks = before.start && !state.start && isModel(state) && riverState.of(state).layer !== null;
    // Who asks on the start page for a layer's heads sees them: with the layout of the next frame.
    if (asks) requestAnimationFrame(() => requestAnimationFrame(() => scrollTo({ top: above(), behavior: "instant" })));
    if (asks || root.ownerDocument.body !== root || PARTS.every((name) => before[name] === state[name])) return;
    if (isModel(state) && scrollY > above()) scrollTo({ top: 0, behavior: "instant" });
    else if (!isModel(state) && (isModel(before) || scrollY > above())) scrollTo({ top: above(), behavior: "instant" });
  };
}

/** What goes out of sight before the sentence does. Of a picture that is read, nothing. @param {Context["frame"]} frame */
function aboveOf({ root, header: { element }, sentence, dock }) {
  if (getComputedStyle(sentence.element).position !== "sticky") return 0;
  const away = getComputedStyle(element).position === "sticky" ? 0 : element.offsetHeight;
  return slidesOf(dock) + cssPixels(root, "--above") + away;
}

/**
 * On a phone the edits come up from the foot of the screen, over the row or the head that was just changed: it scrolls above them, as far
 * as what is said of it stays in sight.
 * @param {Context["frame"]} frame
 */
function uncovering(frame) {
  const { path, say, opened, panels } = frame;
  const edits = path.element.getElementsByClassName("edits");
  let [observed, under] = [false, false]; // `under`: something was changed under an open sheet
  let now = /** @type {State|null} */ (null);
  let added = /** @type {Where|null} */ (null);
  const uncover = () => {
    const [bar] = edits;
    if (getComputedStyle(bar).position !== "fixed") return;
    const of = (/** @type {Element|null} */ part) => part?.getBoundingClientRect() ?? new DOMRect();
    const row = opened.querySelector(".row-keys:not([hidden])");
    const canvas = panels.river?.querySelector("canvas");
    const bottom = row?.checkVisibility()
      ? of(row).bottom
      : canvas && added
        ? of(canvas).top + headEnd(canvas, added)
        : 0;
    const room = of(say).top + LEAD - coveredOf(say);
    const over = of(bar).height > 0 ? bottom - of(bar).top : 0;
    // No candidate is left half under the text.
    const least = Math.max(over, aboveOf(frame) - scrollY);
    if (over > 0 && room > 0) scrollBy({ top: Math.min(least, room), behavior: "instant" });
  };
  const observer = new ResizeObserver(uncover);
  return (/** @type {State} */ state) => {
    const another = now !== null && now.interventions !== state.interventions;
    if (another) added = addedIn(state.interventions, now?.interventions ?? []);
    now = state;
    if (added && another && observed) requestAnimationFrame(uncover);
    // A sheet that closes leaves the page where it was when it opened (shell/tools.js): then, three frames later.
    if (under && state.drawer === null)
      requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(uncover)));
    under = state.drawer !== null && (under || (another && added !== null));
    if (observed || !edits[0]) return;
    observed = true;
    observer.observe(edits[0]);
  };
}

/** What is free over the letters of the sentence, and below what covers it. Pixels. */
const LEAD = 11;

/** Where the edit is that was added to those of before; null: none was, as after Undo. @param {Edit[]} edits @param {Edit[]} before */
export const addedIn = (edits, before) => (edits.length > before.length ? (edits.at(-1)?.where ?? null) : null);

/** The square of the head that an edit changes, of its attention. @param {Square[]} squares @param {Where} where */
export const squareEdited = (squares, { attention, layer, head }) =>
  squares.find((one) => one.attention === attention && one.layer === layer && one.head === head);

/** Where a head ends in the picture, with what stands below it; 0: it is not drawn. @param {HTMLCanvasElement} canvas @param {Where} where */
function headEnd(canvas, where) {
  const one = squareEdited(sceneOf(canvas)?.squares ?? [], where);
  return one ? bottomOf(one) : 0;
}
