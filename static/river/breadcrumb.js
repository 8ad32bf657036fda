/** The way into a layer: its steps in the order of the forward pass, each a link to its station. */

import { hasResidual, sublayersOf } from "../model/description.js";
import { namesOf, nameText } from "../model/labels.js";
import { position } from "../model/selection.js";
import { raisedTo } from "../state/page_fields.js";
import { h, keepingFocus, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { headsOf } from "./layout/heads.js";
import { isDeep, openingHead, openingLayer, riverState } from "./view_state.js";
import { layerTitle } from "./words/names.js";

/**
 * @import { Facts } from "./facts.js"
 * @import { Open } from "./view_state.js"
 * @import { Now } from "./river.js"
 */

/**
 * @typedef {{name: string, view: string, attention: string|null}} Step  `name`: of the catalogue
 */

/** @param {any} model @param {Open} open @returns {Step[]} */
export function layerSteps(model, { stack, layer }) {
  const sublayers = sublayersOf(model, stack, layer);
  const [last] = sublayers.flatMap((one) => (one.kind === "attention" ? [one.attention] : [])).reverse();
  return sublayers.flatMap((one) => {
    const attention = one.kind === "attention" ? one.attention : (last ?? null);
    /** @param {string} name @param {string} view @returns {Step} */
    const step = (name, view) => ({ name, view, attention });
    const body =
      one.kind === "attention"
        ? [step("qkv", "qkv"), step("heads", "attention"), step("w_o", "av")]
        : [step("ffn", "ffn")];
    const norm = one.norm ? [step("norm", "computation")] : [];
    const add = hasResidual(one) ? [step("add", "residual")] : [];
    if (one.norm?.place === "pre") return [...norm, ...body, ...add];
    return one.norm?.place === "post" ? [...body, ...add, ...norm] : [...body, ...norm, ...add];
  });
}

/**
 * The way back, and what is inside: the steps and the heads of the open layer; or the open head, and its cell.
 * @param {HTMLElement} root @param {Now} now @param {Facts} facts
 * @param {{open: Open|null, picture: HTMLElement}} at  `picture`: gets the focus of a link that is removed
 */
export function drawBreadcrumb(root, now, facts, { open, picture }) {
  root.hidden = open === null;
  if (!open) return keepingFocus(root, () => replace(root), picture);
  const { actions, state } = now;
  const whole = link("back", t("river.title"), () => actions.set(openingLayer(null, open)));
  const title = layerTitle(open, open.layer, false);
  const layer = isDeep(state) ? link("layer", title, () => actions.set(openingLayer(open, null))) : h("b", null, title);
  const inside = isDeep(state) ? deeper(now) : stepLinks(now, open);
  const parts = [whole, layer, ...inside].map((part, i) => [i ? " › " : null, part]);
  keepingFocus(root, () => replace(root, parts, headLinks(now, facts, open)), picture);
}

/** @param {string} name @param {string} text @param {() => void} click */
const link = (name, text, click) =>
  h(
    "button",
    { class: "link", type: "button", dataset: { focus: name, testid: `river-${name}` }, on: { click } },
    text,
  );

/** Each step of a layer is a link to its station, if there is space for it. @param {Now} now @param {Open} open */
const stepLinks = ({ trace, state, actions }, open) =>
  layerSteps(trace.model, open).map(({ name, view, attention }, i) => {
    const level = raisedTo(state, "understand");
    const text = t(`river.step.${name}`);
    return link(`step-${i}`, text, () => actions.set({ view, layer: open.layer, attention, level }));
  });

/** The open head, and its cell. @param {Now} now */
function deeper({ trace, state, actions }) {
  const name = t("river.crumb_head", { head: state.head });
  if (riverState.of(state).depth === "head") return [h("b", null, name)];
  const { query, key } = position(state, trace);
  const [q, k] = [namesOf(trace.queries.tokens)[query], namesOf(trace.keys.tokens)[key]];
  return [
    link("head", name, () => actions.set(riverState.patch({ depth: "head" }))),
    h("b", null, h("span", { class: "q" }, nameText(q)), " → ", h("span", { class: "k" }, nameText(k))),
  ];
}

/** All heads of the open layer. @param {Now} now @param {Facts} facts @param {Open} open */
function headLinks({ trace, state, actions }, facts, { stack, layer }) {
  const shown = headsOf(trace, facts, riverState.of(state).heads).find((one) => one.stack === stack);
  const { id: attention, n_head: count } = isDeep(state)
    ? trace.attention
    : { id: shown?.attention ?? null, n_head: shown?.count ?? 0 };
  if (attention === null) return null;
  /** @param {number} head */
  const button = (head) =>
    h(
      "button",
      {
        type: "button",
        "aria-pressed": String(isDeep(state) && state.head === head),
        dataset: { focus: `head-${head}` },
        "aria-label": t("river.crumb_head", { head }),
        on: { click: () => actions.set(openingHead({ attention, layer, head })) },
      },
      head,
    );
  const buttons = Array.from({ length: count }, (_, head) => button(head));
  return h("span", { class: "seg heads", role: "group", "aria-label": t("river.heads_of", { layer }) }, buttons);
}
