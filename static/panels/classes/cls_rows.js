/** [CLS]'s attention row in every head, as small bars over the tokens: a row of pictures for each layer. */

import { tokenName } from "../../model/labels.js";
import { position } from "../../model/selection.js";
import { h, replace, svg } from "../../ui/dom.js";
import { percent } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { pictureOver } from "../../ui/patch_picture.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../../stations/index.js"
 */

/** With more heads than these, pictures are of the open layer alone, with `ACROSS` in a row. */
const [MANY, ACROSS] = [64, 4];
/** The share of full height: a round number above the longest bar. */
const FULL = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1];
const HEIGHT = 30;

/** The position of [CLS]: after the PADs, if they are on the left. @param {ModelTrace} trace */
export function clsIndex({ model, sides }) {
  const { tokens, real } = sides.source;
  const found = tokens.findIndex(({ id }) => id === model.special.first?.id);
  return found < 0 ? real.start : found;
}

/** Whose looks are shown: [CLS]'s, or in a picture the chosen token's. @param {ModelTrace} trace @param {State} state */
export const lookerIn = (trace, state) => (trace.model.picture ? position(state, trace).query : clsIndex(trace));

/**
 * @param {HTMLElement} root @param {ModelTrace} trace
 * @param {State} state @param {Actions} actions
 */
export function drawClsRows(root, trace, state, actions) {
  const at = lookerIn(trace, state);
  const rowOf = (layer, head) => /** @type {number[]} */ (trace.row(layer, head, at));
  const many = Boolean(trace.model.picture) && trace.nLayer * trace.nHead > MANY;
  const layers = many ? [state.layer] : Array.from({ length: trace.nLayer }, (_, layer) => layer);
  const across = many ? ACROSS : trace.nHead;
  const heads = Array.from({ length: trace.nHead }, (_, head) => head);
  const rows = layers.map((layer) => heads.map((head) => rowOf(layer, head)));
  const most = rows.flat(2).reduce((a, b) => Math.max(a, b), 0);
  const full = FULL.find((share) => most <= share) ?? 1;
  const cell = (layer, head) =>
    cellOf(trace, rows[layers.indexOf(layer)][head], { at, layer, head, full }, state, actions);
  const grid = {
    class: many ? "cls-grid many" : "cls-grid",
    role: "group",
    "aria-label": t("classes.rows_label"),
    style: { "--heads": across },
  };
  const title = (text) => h("small", { "aria-hidden": true }, text);
  const cells = many
    ? heads.map((head) => h("div", null, cell(state.layer, head), title(t("classes.head", { head }))))
    : [
        h("span", null),
        heads.map(title),
        layers.map((layer) => [title(layer), heads.map((head) => cell(layer, head))]),
      ];
  replace(
    root,
    h("div", { ...grid, on: { keydown: (event) => walk(event, across) } }, cells),
    many && h("p", { class: "dim hint" }, t("classes.one_layer", { layer: state.layer, n: trace.nLayer })),
    h(
      "p",
      { class: "dim hint" },
      t(trace.model.picture ? "picture.scale" : "classes.scale", { full: percent(full, 0) }),
    ),
  );
}

function cellOf(trace, row, { at, layer, head, full }, state, actions) {
  const on = layer === state.layer && head === state.head;
  const best = row.reduce((most, weight, i) => (weight > row[most] ? i : most), 0);
  const words = t("classes.cell", { layer, head, key: tokenName(trace.keys.tokens[best]), at: best });
  const attrs = {
    type: "button",
    class: on ? "cls-row on" : "cls-row",
    "aria-label": words,
    "aria-pressed": on,
    title: words,
    tabindex: on ? 0 : -1,
    dataset: { testid: "cls-row", layer, head, best, focus: `${layer}.${head}` },
    on: { click: () => actions.set({ layer, head, query: at, key: null }) },
  };
  if (!trace.model.picture) return h("button", attrs, bars(row, full));
  const over = pictureOver(trace.keys.tokens, row, full, at);
  return h("button", { ...attrs, class: `${attrs.class} over` }, over);
}

/** A bar for each token, all in one path. */
function bars(row, full) {
  const bar = (weight, i) => `M${i} ${HEIGHT}v${(-Math.min(1, weight / full) * HEIGHT).toFixed(2)}h0.86V${HEIGHT}z`;
  const look = { viewBox: `0 0 ${row.length} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": true };
  return svg("svg", look, svg("path", { d: row.map(bar).join("") }));
}

/** The arrow keys go to the next picture. */
function walk(event, nHead) {
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const at = buttons.indexOf(event.target);
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -nHead, ArrowDown: nHead }[event.key];
  if (step === undefined || at < 0) return;
  event.preventDefault();
  buttons[at + step]?.focus();
}
