/** The tour once it is taken: its steps, one after the other, and how it is left. */

import { tokenName } from "../../model/labels.js";
import { isEmpty, position } from "../../model/selection.js";
import { significant } from "../../ui/format.js";
import { headLabel } from "../../ui/heads.js";
import { createCard } from "./card.js";
import { stepsOf } from "./steps.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Context, Draw } from "../../page.js"
 * @import { Level } from "../../state/levels.js"
 */

/** @param {Context} context */
export function createGuide({ actions, modelOf, frame, ground }) {
  const { root } = frame;
  const tour = {
    at: -1,
    steps: /** @type {ReturnType<typeof stepsOf>} */ ([]),
    trace: /** @type {ModelTrace|null} */ (null),
    waiting: false,
    from: /** @type {Element|null} */ (null),
    level: /** @type {Level|null} */ (null),
  };
  const card = createCard(root, { go, close });

  /** @param {Element|null} from  where the focus goes back to @param {Level} level  to which it goes back */
  function start(from, level) {
    Object.assign(tour, { from, level });
    tour.waiting = true;
    begin();
  }

  /** Starts once everything is drawn, because only then are the places known. */
  function begin() {
    if (!tour.waiting || !tour.trace || root.dataset.state !== "ready") return;
    tour.waiting = false;
    tour.steps = stepsOf(modelOf(actions.get()), frame);
    if (!tour.steps.length) return; // a lesson was opened meanwhile
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
        : frame.header.tour;
    if (inside) back.focus({ preventScroll: true });
    const { level, lesson } = actions.get();
    if (tour.level && level !== tour.level && lesson === null) actions.set({ level: tour.level });
  }

  new MutationObserver(begin).observe(root, { attributeFilter: ["data-state"] });
  ground.addEventListener(
    "keydown",
    (event) => /** @type {KeyboardEvent} */ (event).key === "Escape" && leave(event, frame.help, close),
  );
  return {
    start,
    /** @type {Draw} */
    draw(trace, state) {
      tour.trace = trace;
      if (isEmpty(state) || state.lesson !== null) close();
    },
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
