/**
 * The walk of one token, or of the whole sequence, through one block: formula by formula, each next to its matrices,
 * with the row and the column that any element of a result comes from.
 */

import { heightsFor } from "../../chart/pictures.js";
import { readsPhotos } from "../../model/patches.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, newId, perRoot, replace, setText, update } from "../../ui/dom.js";
import { ffnTitle, headTitle } from "../../ui/heads.js";
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

/**
 * @import { Patch, State } from "../../state/store.js"
 * @import { Actions, FetchedDraw } from "../view.js"
 * @import { Board } from "./board.js"
 * @import { Context } from "./matrices.js"
 * @import { Step } from "./steps.js"
 */

const elementsOf = perRoot((root) => {
  const id = newId("computation");
  const parts = {
    id,
    width: 0,
    room: "",
    tallest: 0,
    title: h("h1", { dataset: { testid: "opened-title" } }),
    ways: segment(t("computation.way"), ["one", "all"], "way", (name) => t(`computation.way_${name}`)),
    player: h("div", { class: "walk-place" }),
    place: h("div", { class: "walk-place" }),
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
    walk: /** @type {ReturnType<typeof buildWalk>|null} */ (null),
    board: /** @type {Board|null} */ (null),
    again: () => {},
  };
  parts.picture.append(parts.mats, parts.scale);
  root.append(
    h("div", { class: "bar" }, parts.title, parts.player, h("span", { class: "grow" }), parts.ways.box),
    parts.place,
    h("div", { class: "walk-says" }, parts.formula, parts.about, parts.leads),
    parts.lacks,
    parts.list,
    parts.picture,
    parts.source,
    h("div", { dataset: { place: "reading" } }),
  );
  const room = new ResizeObserver(() => root.clientWidth && roomFor(root, parts) !== parts.room && parts.again());
  room.observe(root);
  const page = root.closest(".main"); // what is above it moves it
  if (page) room.observe(page);
  return parts;
});

/** @param {HTMLElement} root @param {Parts} parts */
const roomFor = (root, { mats }) => `${root.clientWidth} ${heightsFor(mats)}`;

/** @type {FetchedDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const steps = walkSteps(trace.model, state);
  const step = openStep(steps, trace.model, state);
  const context = contextOf(trace, state, step);
  parts.width = root.clientWidth;
  parts.room = roomFor(root, parts);
  parts.again = () => draw(root, trace, state, actions); // the drawn state: a newer one may need data that has not arrived
  const walk = walkOf(parts, actions);
  drawWalk(walk, steps, step, trace.model, state);
  drawHeading(parts, context);
  drawChoices(parts, context, state, actions);
  drawBody(parts, context, state, actions);
  drawShapes(parts.source, parts.board && !parts.picture.hidden ? parts.board.picture.mats : []);
  bringResult(root, parts, walk);
  walk.player.drawn();
  prefetch(steps, step, actions);
}

/** @typedef {ReturnType<typeof elementsOf>} Parts */

/** @param {Parts} parts @param {Actions} actions */
function walkOf(parts, actions) {
  if (parts.walk) return parts.walk;
  const walk = buildWalk(actions, (to, plays = false) =>
    actions.set({ ...followedIn(parts), ...firstSteps(to, { plays }), view: "computation" }),
  );
  replace(parts.player, walk.controls);
  replace(parts.place, walk.element);
  parts.walk = walk;
  return walk;
}

/** The same dimension is explained to the end of the walk. @param {Parts} parts @returns {Patch} */
const followedIn = ({ board, picture }) =>
  board && !picture.hidden ? followed(board.picture, board.cell, board.context.step) : {};

/**
 * Scrolls to the step's result, so that it was visible before Play continues. The page stays as long as its longest step, so that it does
 * not jump back with a short one.
 * @param {HTMLElement} root @param {Parts} parts @param {ReturnType<typeof buildWalk>} walk
 */
function bringResult(root, parts, walk) {
  if (!walk.player.playing) return;
  const { board, list, picture } = parts;
  parts.tallest = Math.max(parts.tallest, root.offsetHeight);
  update(root, { style: { minHeight: `${parts.tallest}px` } });
  const result = picture.hidden || !board ? list : board.drawn[board.picture.mats.indexOf(board.picture.result)].frame;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  result.scrollIntoView({ block: "nearest", behavior: calm ? "instant" : "smooth" });
}

/** The step's number, its formula, and a sentence. @param {Parts} parts @param {Context} context */
function drawHeading(parts, context) {
  const { step, model, layer, head, trace } = context;
  const open = { attention: trace.attention.id, layer, head };
  setText(parts.title, step.group === "ffn" ? ffnTitle(model, trace.attention.stack, layer) : headTitle(model, open));
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

/**
 * The choice of one token or all, and the link into a block, if there is one.
 * @param {Parts} parts @param {Context} context @param {State} state @param {Actions} actions
 */
function drawChoices(parts, { step, model }, state, actions) {
  const leads = kindOf(step).leads?.(step);
  parts.ways.show(walkState.of(state).way, (/** @type {"one"|"all"} */ way) => actions.set(walkState.patch({ way })));
  parts.leads.hidden = leads === undefined;
  if (leads === undefined) return;
  setText(parts.leads, t("computation.leads", { layer: leads }));
  parts.leads.onclick = () => {
    const into = walkSteps(model, { ...actions.get(), layer: leads }).find(({ group }) => group !== "in");
    actions.set({ layer: leads, ...firstSteps(/** @type {Step} */ (into)) });
  };
}

/** @param {Parts} parts @param {Context} context @param {State} state @param {Actions} actions */
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

/**
 * Prefetches the needs of the neighbouring steps and of their explanations, once this one is drawn.
 * @param {Step[]} steps @param {Step} step @param {Actions} actions
 */
function prefetch(steps, step, actions) {
  const at = steps.indexOf(step);
  const near = [steps[at + 1], steps[at - 1]].filter(Boolean);
  setTimeout(() => actions.soon(near.map((one) => firstSteps(one))).catch(() => {}), 0);
}
