/**
 * The guided tour over the real page. It never starts by itself: on a first visit, the header and the empty page
 * offer it.
 */

import { tokenName } from "../../model/labels.js";
import { isEmpty, position } from "../../model/selection.js";
import { patchOf } from "../../shell/examples.js";
import { h, replace, setText, svg, update } from "../../ui/dom.js";
import { significant } from "../../ui/format.js";
import { headLabel } from "../../ui/head_names.js";
import { t } from "../../ui/i18n.js";
import { keepInMind, remembered } from "../../ui/remembered.js";
import { createCard } from "./card.js";
import { stepsOf } from "./steps.js";

/** @param {import("../../page.js").Context} context @returns {import("../../page.js").Draw} */
export function createTour({ actions, examples, modelOf, frame, ground, tour: startable }) {
  const { root } = frame;
  const button = frame.header.tour;
  const tour = {
    at: -1,
    steps: /** @type {ReturnType<typeof stepsOf>} */ ([]),
    trace: /** @type {import("../../data/model_trace.js").ModelTrace|null} */ (null),
    waiting: false,
    from: /** @type {Element|null} */ (null),
  };
  const offers = createOffers(button, frame.offer, start);
  const card = createCard(root, { go, close });

  function start() {
    offers.seen();
    tour.from = document.activeElement;
    tour.waiting = true;
    const state = actions.get();
    if (isEmpty(state))
      actions.set(patchOf(examples.examples.find(({ model }) => model === state.model) ?? examples.examples[0]));
    begin();
  }

  /** Starts once everything is drawn, because only then are the places known. */
  function begin() {
    if (!tour.waiting || !tour.trace || root.dataset.state !== "ready") return;
    tour.waiting = false;
    tour.steps = stepsOf(modelOf(actions.get()), frame);
    tour.at = 0;
    show();
  }

  function go(by) {
    const to = tour.at + by;
    if (to < 0) return;
    if (to >= tour.steps.length) return close();
    tour.at = to;
    show();
  }

  function show() {
    const step = tour.steps[tour.at];
    const at = step.at(frame);
    if (step.view && actions.get().view !== step.view) actions.set({ view: step.view });
    card.show(step, at, tour.at, tour.steps.length, wordsFor(tour.trace, actions.get()));
  }

  function close() {
    tour.waiting = false; // it was closed before it began
    if (tour.at < 0) return;
    const inside = card.card.contains(document.activeElement);
    tour.at = -1;
    card.hide();
    const back =
      tour.from instanceof HTMLElement && tour.from !== document.body && tour.from.checkVisibility()
        ? tour.from
        : button;
    if (inside) back.focus({ preventScroll: true });
  }

  new MutationObserver(begin).observe(root, { attributeFilter: ["data-state"] });
  ground.addEventListener(
    "keydown",
    (event) => /** @type {KeyboardEvent} */ (event).key === "Escape" && leave(event, frame.help, close),
  );
  startable.start = start;
  return (trace, state) => {
    tour.trace = trace;
    if (isEmpty(state)) close();
  };
}

/**
 * Escape closes the tour, but first a field or an open popover.
 * @param {Event} event @param {HTMLDialogElement} over @param {() => void} close
 */
function leave({ target, defaultPrevented }, over, close) {
  const field = /** @type {HTMLElement} */ (target).matches?.("input:not([type=range]), textarea, select");
  if (!field && !defaultPrevented && !over.open) close();
}

/** The variables of the steps' texts, from the open picture. */
function wordsFor(trace, state) {
  if (!trace) return {};
  const { query, key } = position(state, trace);
  const { data, shape } = trace.detail?.overview ?? {};
  const [q, k] = [trace.queries.tokens[query], trace.keys.tokens[key]].map(tokenName);
  const weight = data ? significant(data[query * shape[1] + key], 3) : "…";
  return {
    query: q,
    key: k,
    weight,
    head: headLabel(trace.model, state),
    n: trace.attentions.reduce((sum, { n_layer, n_head }) => sum + n_layer * n_head, 0),
  };
}

/** The header's button, which is highlighted until the tour is taken or declined; and the offer on the empty page. */
/** @param {HTMLButtonElement} button @param {HTMLElement} offer  on the page without a sentence @param {() => void} start */
function createOffers(button, offer, start) {
  const words = h("span", { class: "word" });
  replace(button, icon(), words);
  const not = (testid) =>
    h(
      "button",
      { class: "btn quiet", type: "button", dataset: { testid }, on: { click: () => seen() } },
      t("tour.not_now"),
    );
  const decline = not("tour-not-now");
  button.after(decline);
  const take = h(
    "button",
    { class: "btn primary", type: "button", dataset: { testid: "tour-take" }, on: { click: start } },
    t("tour.take"),
  );
  replace(offer, h("p", null, t("tour.offer")), take, not("tour-decline"));
  button.addEventListener("click", start);

  function show() {
    const fresh = remembered("tour") === null;
    setText(words, t(fresh ? "tour.take" : "tour.button"));
    update(button, { title: t("tour.about"), class: fresh ? "btn with-icon primary" : "btn with-icon" });
    decline.hidden = !fresh;
    offer.hidden = !fresh;
  }
  const seen = () => {
    keepInMind("tour", "seen");
    show();
  };
  show();
  return { seen };
}

/** A signpost. */
const icon = () =>
  svg(
    "svg",
    { viewBox: "0 0 16 16", class: "sign", "aria-hidden": "true" },
    svg("path", { d: "M8 1.5v13M8 3h5l1.5 1.8L13 6.6H8M8 7.6H3.4L1.9 9.4l1.5 1.8H8" }),
  );
