/**
 * The walk of one token, or of the whole sequence, through one block: formula by formula, each beside its matrices,
 * and for any element of a result the row and the column it comes from.
 */

import { readsPhotos } from "../../model/patches.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, newId, perRoot, replace, setText } from "../../ui/dom.js";
import { headTitle } from "../../ui/heads.js";
import { hasString, t } from "../../ui/i18n.js";
import { setFormulas } from "../../ui/mathml.js";
import { drawShapes, drawSources } from "../../ui/source.js";
import { walkState } from "../view_states.js";
import { drawBoard } from "./board.js";
import { followed } from "./choice.js";
import { aboutStep, kindOf, sourcesOf, stepName } from "./kinds.js";
import { contextOf } from "./matrices.js";
import { knownOf } from "./needs.js";
import { firstSteps, openStep, walkSteps } from "./steps.js";
import { buildSum } from "./sum.js";
import { buildWalk, drawWalk } from "./walk.js";

/** @import { Step } from "./steps.js" */

const elementsOf = perRoot((root) => {
  const id = newId("computation");
  const parts = {
    id,
    width: 0,
    title: h("h1", { dataset: { testid: "opened-title" } }),
    ways: segment(t("computation.way"), ["one", "all"], "way", (name) => t(`computation.way_${name}`)),
    place: h("div"),
    formula: h("div", { class: "formula", dataset: { testid: "computation-formula" } }),
    about: h("p", { class: "dim about" }),
    source: h("div"),
    leads: h("button", { class: "btn", type: "button", hidden: true, dataset: { testid: "walk-leads" } }),
    lacks: h("p", { class: "panel-lacks" }),
    list: h("div", { class: "computation-list" }),
    picture: h("div"),
    mats: h("div"),
    scale: h("p", { class: "dim scale", dataset: { testid: "computation-scale" } }),
    sum: buildSum(id),
    walk: /** @type {any} */ (null),
    board: /** @type {any} */ (null), // the step that is drawn: see computation/board.js
    again: () => {},
  };
  parts.picture.append(parts.mats, parts.scale);
  root.append(
    h("div", { class: "bar" }, parts.title, h("span", { class: "grow" }), parts.ways.box),
    parts.place,
    parts.formula,
    parts.about,
    parts.leads,
    parts.lacks,
    parts.list,
    parts.picture,
    parts.source,
  );
  new ResizeObserver(() => root.clientWidth && root.clientWidth !== parts.width && parts.again()).observe(root);
  return parts;
});

export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const steps = walkSteps(trace.model, state);
  const step = openStep(steps, trace.model, state);
  const context = contextOf(trace, state, step);
  parts.width = root.clientWidth;
  parts.again = () => draw(root, trace, state, actions); // the drawn state: a newer one may need data that has not arrived
  walkOf(parts, actions);
  drawWalk(parts.walk, steps, step, trace.model, state);
  drawHeading(parts, context);
  drawChoices(parts, context, state, actions);
  drawBody(parts, context, state, actions);
  drawShapes(parts.source, parts.picture.hidden ? [] : parts.board.picture.mats);
  bringResult(parts);
  parts.walk.player.drawn();
  prefetch(steps, step, actions);
}

function walkOf(parts, actions) {
  if (parts.walk) return;
  parts.walk = buildWalk(actions, (to) =>
    actions.set({ ...followedIn(parts), ...firstSteps(to), view: "computation" }),
  );
  replace(parts.place, parts.walk.controls, parts.walk.element);
}

/** The same dimension is explained to the end of the walk. */
const followedIn = ({ board, picture }) =>
  board && !picture.hidden ? followed(board.picture, board.cell, board.context.step) : {};

/** Before Play goes on, what the step made has been in view. */
function bringResult({ walk, board, list, picture }) {
  if (!walk.player.playing) return;
  const result = picture.hidden ? list : board.drawn[board.picture.mats.indexOf(board.picture.result)].frame;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  result.scrollIntoView({ block: "nearest", behavior: calm ? "instant" : "smooth" });
}

/** The step's number, its formula, and a sentence. */
function drawHeading(parts, context) {
  const { step, model, layer, head, trace } = context;
  setText(parts.title, headTitle(model, { attention: trace.attention.id, layer, head }));
  const name = h("b", { class: "step-name" }, stepName(step));
  replace(parts.formula, name, h("span", { class: "formulas" }, kindOf(step).formula(step, context)));
  drawSources(parts.source, sourcesOf(step, model));
  const crossed = step.group === "cross_attn" && ["q", "k", "v"].includes(step.kind);
  const kinds = [readsPhotos(model) && "photo", model.picture && "drawn"].filter(Boolean);
  const read = kinds.map((kind) => `picture.step_${step.kind}.${kind}`).find(hasString);
  setFormulas(
    parts.about,
    [read ? t(read) : aboutStep(step), crossed && t(`computation.about.cross_${step.kind}`), kindOf(step).note?.(step)]
      .filter(Boolean)
      .join(" "),
  );
}

/** The choice of one token or all, and the link into a block, if there is one. */
function drawChoices(parts, { step, model }, state, actions) {
  const leads = kindOf(step).leads?.(step);
  parts.leads.hidden = leads === undefined;
  if (leads !== undefined) setText(parts.leads, t("computation.leads", { layer: leads }));
  parts.leads.onclick = () => {
    const into = walkSteps(model, { ...actions.get(), layer: leads }).find(({ group }) => group !== "in");
    actions.set({ layer: leads, ...firstSteps(/** @type {Step} */ (into)) });
  };
  parts.ways.show(walkState.of(state).way, (way) => actions.set(walkState.patch({ way })));
}

function drawBody(parts, context, state, actions) {
  const { step, trace, model } = context;
  const { list } = kindOf(step);
  const lacks = knownOf(step).needs(step, model).map(trace.lacks).find(Boolean);
  parts.lacks.hidden = !lacks;
  parts.list.hidden = !list;
  parts.picture.hidden = Boolean(list || lacks);
  if (lacks) setText(parts.lacks, t(lacks));
  else if (list) keepingFocus(parts.list, () => replace(parts.list, list(context, actions)));
  else drawBoard(parts, context, state, actions);
}

/** Prefetches the needs of the neighbouring steps and of their explanations, once this one is drawn. */
function prefetch(steps, step, actions) {
  const at = steps.indexOf(step);
  const near = [steps[at + 1], steps[at - 1]].filter(Boolean);
  setTimeout(() => actions.soon(near.map(firstSteps)).catch(() => {}), 0);
}
