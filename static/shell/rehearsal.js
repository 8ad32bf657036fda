/**
 * The first head that a page opens took twice as long as the next one: its code had not run, its rules had matched nothing and
 * its letters had no shapes. So when a page is idle, the views of an open head are drawn once out of sight, from blank numbers:
 * nothing is requested or shown, and what these views listen to finds nothing in the document any more.
 */

import { detailOf } from "../data/request.js";
import { has, tapOf } from "../model/description.js";
import { needsOfScores } from "../model/weight_arithmetic.js";
import { guarded, h, together, whenIdle } from "../ui/dom.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { Actions, Panel, View } from "../views/view.js"
 */

/** The longest text that is rehearsed, in tokens: a longer one has more of the same. */
const LONGEST = 64;

/** Needs of views that a blank head meets. */
const MET = /^(detail$|weight:|code:)/;

/** Of each document, whether its views were rehearsed: code that has run stays compiled. @type {WeakSet<Document>} */
const rehearsed = new WeakSet();

/**
 * Draws the views once when the page is next idle, if a blank head has all that they need.
 * @param {HTMLElement} page @param {[View|Panel, string[]][]} parts  each with its needs @param {ModelTrace} trace
 * @param {State} state  that of the open head @param {Actions} actions
 */
export function rehearse(page, parts, trace, state, actions) {
  if (rehearsed.has(document) || !parts.length || !isPlain(trace, state)) return;
  if (!parts.every(([, needs]) => needs.every((need) => MET.test(need)))) return;
  rehearsed.add(document);
  whenIdle(() => {
    const blank = blankHead(trace, state);
    const roots = parts.map(([{ id }]) => h("div", { class: "station", dataset: { station: id } }));
    const stage = h(
      "div",
      { class: "rehearsal", inert: true, "aria-hidden": true },
      roots.map((root) => h("div", { class: "panel" }, root)),
    );
    page.append(stage);
    const draw = () => together(() => parts.forEach(([view], i) => view.draw(roots[i], blank, state, actions)));
    guarded(unnoticed, draw);
    stage.getBoundingClientRect(); // its letters get their shapes
    stage.remove();
  });
}

/** A view that cannot draw blank numbers will draw its own. @param {() => void} draw */
function unnoticed(draw) {
  try {
    draw();
  } catch (error) {
    console.warn(error);
  }
}

/** Whether a head is drawn from its own numbers alone. @param {ModelTrace} trace @param {State} state */
const isPlain = ({ attention, file, pool, queries, keys }, state) =>
  file === null &&
  pool === 1 &&
  !state.compare &&
  has(attention, "pattern") &&
  needsOfScores(attention, state.layer).length === 0 && // what is learned about distances has shapes of its own
  Math.max(queries.tokens.length, keys.tokens.length) <= LONGEST;

/**
 * A trace with an open head whose numbers are all alike. The mask is the trace's.
 * @param {ModelTrace} trace @param {{layer: number, head: number}} state
 */
function blankHead(trace, { layer, head }) {
  const { attention, queries, keys, model, causal } = trace;
  const [query, key] = [queries.tokens.length, keys.tokens.length];
  /** @param {number[]} shape */
  const alike = (shape) => ({ shape, data: new Float32Array(shape.reduce((n, side) => n * side, 1)).fill(1 / key) });
  const tensors = Object.fromEntries(
    Object.entries(attention.roles).map(([role, { dims, rows }]) => {
      const position = rows === "key" ? key : query;
      /** @type {Record<string, number>} */
      const sizes = { query, key, position, d_head: attention.d_head };
      return [tapOf(attention, layer, role), alike(dims.split(" ").map((dim) => sizes[dim] ?? 1))];
    }),
  );
  if (has(attention, "mask"))
    Object.assign(tensors, {
      [tapOf(attention, layer, "mask")]: { shape: [1, query, key], data: trace.mask(layer, head) },
    });
  const decoded = /** @type {any} */ ({ meta: { masks: { causal }, heads: [head] }, tensors });
  const weight = { dims: [], ...alike([model.description.d_model, attention.d_head]) };
  return { ...trace, detail: detailOf(decoded, attention, layer, head), weight: () => weight };
}
