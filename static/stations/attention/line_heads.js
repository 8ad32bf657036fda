/**
 * Whose lines are drawn: those of the open head, of several heads of its layer, or their mean. The choice is also the
 * legend.
 */

import { colourName, DASHES } from "../../chart/lines/svg.js";
import { segment } from "../../ui/controls.js";
import { h, keepingFocus, perRoot, replace, svg } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { own } from "./own.js";

/** The number of distinguishable colours. */
const MOST_HEADS = DASHES.length;

/** What is shown: null (the open head), "mean", or those of the requested heads that the model has. */
export function shownHeads({ nHead }, state) {
  const { heads } = own.of(state);
  if (!Array.isArray(heads)) return nHead > 1 ? heads : null;
  const there = heads.filter((head) => head < nHead).slice(0, MOST_HEADS);
  return there.length ? there : null;
}

const partsOf = perRoot((root) => {
  const heads = h("div", { class: "line-heads", role: "group", "aria-label": t("lines.heads") });
  const modes = segment(t("lines.whose"), ["open", "several", "mean"], "lines", (name) => t(`lines.whose.${name}`));
  replace(root, modes.box, heads);
  return { modes, heads };
});

/** @param {HTMLElement} root */
export function drawLineHeads(root, trace, state, actions) {
  const parts = partsOf(root);
  const shown = shownHeads(trace, state);
  root.hidden = trace.nHead < 2;
  const several = Array.isArray(shown);
  const some = [0, 1, 2].map((i) => (state.head + i) % trace.nHead);
  const heads = { open: null, several: [...new Set(some)].sort((a, b) => a - b), mean: /** @type {const} */ ("mean") };
  const open = several ? "several" : (shown ?? "open");
  parts.modes.show(open, (name) => name !== open && actions.set(own.patch({ heads: heads[name] })));
  keepingFocus(parts.heads, () => {
    parts.heads.hidden = !several;
    replace(parts.heads, several && Array.from({ length: trace.nHead }, (_, head) => chip(head, shown, actions)));
  });
}

/** One head, in the colour and the dash that its lines have. */
function chip(head, shown, actions) {
  const at = shown.indexOf(head);
  const on = at >= 0;
  const toggled = on ? shown.filter((one) => one !== head) : [...shown, head].sort((a, b) => a - b);
  const full = !on && shown.length >= MOST_HEADS;
  const attrs = {
    type: "button",
    class: "chip",
    "aria-pressed": on,
    disabled: full || (on && shown.length === 1),
    title: full ? t("lines.most", { n: MOST_HEADS }) : null,
    dataset: { testid: "line-head", head, focus: `head${head}` },
    on: { click: () => actions.set(own.patch({ heads: toggled })) },
  };
  return h("button", attrs, on && sample(at, shown.length), t("lines.head", { head }));
}

/** A piece of a series' line. @param {number} i @param {number} count */
export function sample(i, count) {
  const look = { "stroke-width": 3, "stroke-dasharray": DASHES[i], style: { stroke: `var(${colourName(i, count)})` } };
  return svg(
    "svg",
    { width: 26, height: 8, "aria-hidden": true, class: "sample" },
    svg("path", { d: "M1 4H25", ...look }),
  );
}

/** The legend of lines: each head's colour and dash, and what their opacity means; null: no lines are drawn. */
export function linesLegend(trace, state) {
  if (state.compare || own.of(state).as !== "lines") return null;
  const shown = shownHeads(trace, state);
  const names = Array.isArray(shown) ? shown.map((head) => t("lines.head", { head })) : [];
  const samples = names.map((name, i) => h("span", { class: "sample-of" }, sample(i, names.length), name));
  const ramp = [h("span", null, "0"), h("span", { class: "ramp opacity" }), h("span", null, "1")];
  const words = [h("span", null, t("lines.opacity")), names.length < 2 && ramp];
  return h("span", { class: "legend", dataset: { testid: "lines-legend" } }, names.length > 1 && samples, words);
}
