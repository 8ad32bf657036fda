/** Embedding + position: what the first layer reads, the positions, what they are for, and a token's neighbours. */

import { embeddingState } from "../../data/embedding.js";
import { attentionsOf, writesTarget } from "../../model/description.js";
import { segment } from "../../ui/controls.js";
import { h, perRoot, setText } from "../../ui/dom.js";
import { keyFor, t } from "../../ui/i18n.js";
import { buildParts, drawFormula } from "../parts.js";
import { embeddingTabOf, hasTab, shownStack } from "../tabs.js";
import neighbours from "./neighbours.js";
import positions from "./positions.js";
import sum from "./sum.js";
import swap from "./swap.js";

/**
 * @import { FetchedTrace } from "../../data/model_trace.js"
 * @import { Stack } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, FetchedDraw } from "../view.js"
 */

/**
 * @typedef {Object} Tab  a part of this station: its word is `embedding.tab.<name>`
 * @property {boolean} [sides]  it exists for the source and for the target
 * @property {(place: HTMLElement, trace: FetchedTrace, state: State, actions: TabActions) => {formula: any, note: any, legend?: any}} draw
 * @typedef {Actions & {redraw: () => void, stack: Stack, line: HTMLElement, scale: HTMLElement}} TabActions  `stack`: whose embedding is shown;
 *   `line`: the sum of the chosen cell; `scale`: what its colours mean
 */

/** Three matrices with more columns than these need the width of the page. */
const WIDE = 256;

const NAMES = /** @type {const} */ (["sum", "positions", "swap", "neighbours"]);
/** @type {Object<string, Tab>} */
const TABS = { sum, positions, swap, neighbours };

const elementsOf = perRoot((root) => {
  const places = Object.fromEntries(NAMES.map((name) => [name, h("div", { dataset: { part: name } })]));
  const lacks = h("p", { class: "panel-lacks" }, t("open.lacks_model"));
  const tabs = segment(t("embedding.tabs"), NAMES, "embedding", (name) => t(`embedding.tab.${name}`));
  const sides = segment(t("embedding.sides"), ["source", "target"], "embedding", (side) => t(`sides.${side}`));
  const title = h("h1", { class: "sr-only" }, t("embedding.title")); // the path names the place
  const scale = h("div", { class: "embedding-scale" });
  const parts = buildParts(root, h("div", { class: "bar" }, title, tabs.box, sides.box, scale));
  const about = h("p", { class: "dim embedding-about" });
  const line = h("div", { class: "embedding-sum", "aria-live": "polite", dataset: { testid: "sum-of-cell" } });
  const { sum, positions, swap, neighbours } = places;
  const box = h("div", { class: "embedding-parts" }, sum, line, positions, swap, neighbours);
  parts.body.append(lacks, box);
  parts.reading.before(about);
  return { ...parts, box, line, scale, places, lacks, tabs, sides, about };
});

/** @type {FetchedDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const name = embeddingTabOf(state, trace.model);
  root.dataset.reading = trace.model.picture ? "embedding_picture" : "embedding";
  const [tab, place] = [TABS[name], parts.places[name]];
  const lacks = state.file !== null && name !== "sum";
  drawTools(parts, name, trace, actions);
  const near = name === "sum" && !lacks && Boolean(trace.explained.neighbours); // beside the sum
  for (const other of Object.values(parts.places))
    other.hidden = (other !== place && !(near && isNear(other))) || lacks;
  parts.lacks.hidden = !lacks;
  parts.formula.hidden = lacks;
  // The first tab needs no text of its own: the reading help describes it.
  setText(
    parts.about,
    [name !== "sum" && t(keyFor(trace.model, `embedding.${name}_about`)), t(`embedding.${name}_how`)]
      .filter(Boolean)
      .join(" "),
  );
  if (lacks) return;
  const redraw = () => draw(root, trace, state, actions);
  parts.box.classList.toggle("of-sum", name === "sum");
  parts.box.classList.toggle("wide", trace.model.description.d_model > WIDE);
  parts.places.neighbours.classList.toggle("card-box", near);
  parts.line.hidden = parts.scale.hidden = name !== "sum";
  const own = { ...actions, redraw, line: parts.line, scale: parts.scale, stack: shownStack(state, trace.model) };
  drawFormula(parts.formula, tab.draw(place, trace, state, own));
  if (near) neighbours.draw(parts.places.neighbours, trace, state, own);
}

/** @param {HTMLElement} place */
const isNear = ({ dataset: { part } }) => part === "neighbours";

/**
 * @param {ReturnType<typeof elementsOf>} parts @param {string} open @param {FetchedTrace} trace @param {Actions} actions
 */
function drawTools({ tabs, sides }, open, trace, actions) {
  tabs.show(
    open,
    (name) => actions.set(embeddingState.patch({ tab: name })),
    (name) => hasTab(name, trace.model),
  );
  sides.box.hidden = !writesTarget(trace.model) || TABS[open].sides === false;
  // The side follows the open attention's queries, so changing it opens another attention.
  sides.show(trace.queries.side, (side) => {
    const last = attentionsOf(trace.model).findLast(({ queries }) => queries === side);
    if (trace.queries.side !== side) actions.set({ attention: last?.id ?? null });
  });
}
