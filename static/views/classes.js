/** A classifier's answer: its classes, what they are computed from, and where [CLS] looks in every head. */

import { riversOf } from "../data/wire.js";
import { rollout } from "../model/contribution_rollout.js";
import { tokenName } from "../model/labels.js";
import { position } from "../model/selection.js";
import { h, keepingFocus, perRoot, replace, setText, svg } from "../ui/dom.js";
import { integer, percent, signed, significant } from "../ui/format.js";
import { keyFor, phrase, t } from "../ui/i18n.js";
import { patchWords, pictureOver } from "../ui/patch_picture.js";
import { className } from "../ui/token_text.js";

/**
 * @import { HeadTrace, ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { Actions, HeadDraw } from "./view.js"
 */

// [CLS]'s attention row in every head, as small bars over the tokens: a row of pictures for each layer.

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

/** The token whose attention is shown: [CLS], or in a picture the chosen token. @param {ModelTrace} trace @param {State} state */
export const lookerIn = (trace, state) => (trace.model.picture ? position(state, trace).query : clsIndex(trace));

/**
 * @param {HTMLElement} root @param {ModelTrace} trace
 * @param {State} state @param {Actions} actions
 */
function drawClsRows(root, trace, state, actions) {
  const at = lookerIn(trace, state);
  const rowOf = (/** @type {number} */ layer, /** @type {number} */ head) =>
    /** @type {number[]} */ (trace.row(layer, head, at));
  const many = Boolean(trace.model.picture) && trace.nLayer * trace.nHead > MANY;
  const layers = many ? [state.layer] : Array.from({ length: trace.nLayer }, (_, layer) => layer);
  const across = many ? ACROSS : trace.nHead;
  const heads = Array.from({ length: trace.nHead }, (_, head) => head);
  const rows = layers.map((layer) => heads.map((head) => rowOf(layer, head)));
  const most = rows.flat(2).reduce((a, b) => Math.max(a, b), 0);
  const full = FULL.find((share) => most <= share) ?? 1;
  const cell = (/** @type {number} */ layer, /** @type {number} */ head) =>
    cellOf(trace, rows[layers.indexOf(layer)][head], { at, layer, head, full }, state, actions);
  const grid = {
    class: many ? "cls-grid many" : "cls-grid",
    role: "group",
    "aria-label": t("classes.rows_label"),
    style: { "--heads": across },
  };
  const title = (/** @type {string|number} */ text) => h("small", { "aria-hidden": true }, text);
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

/** @param {ModelTrace} trace @param {number[]} row @param {{at: number, layer: number, head: number, full: number}} of @param {State} state @param {Actions} actions */
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

/** A bar for each token, all in one path. @param {number[]} row @param {number} full */
function bars(row, full) {
  const bar = (/** @type {number} */ weight, /** @type {number} */ i) =>
    `M${i} ${HEIGHT}v${(-Math.min(1, weight / full) * HEIGHT).toFixed(2)}h0.86V${HEIGHT}z`;
  const look = { viewBox: `0 0 ${row.length} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": true };
  return svg("svg", look, svg("path", { d: row.map(bar).join("") }));
}

/** The arrow keys go to the next picture. @param {KeyboardEvent} event @param {number} nHead */
function walk(event, nHead) {
  const buttons = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll("button")];
  const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target));
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -nHead, ArrowDown: nHead }[event.key];
  if (step === undefined || at < 0) return;
  event.preventDefault();
  buttons[at + step]?.focus();
}

// Where the state of a token comes from, back through the layers: shares multiplied (Abnar & Zuidema 2020), over the picture.

/** @param {HTMLElement} root @param {ModelTrace} trace @param {number} from */
function drawRolled(root, trace, from) {
  const route = trace.explained.route;
  root.hidden = !route || Boolean(route.refused);
  if (root.hidden) return;
  const [river] = riversOf(route);
  const rolled = rollout([river], river.stack, from)[0].at.slice(0, -1).reverse();
  const { tokens } = trace.queries;
  const most = Math.max(
    ...rolled.flatMap((shares) => tokens.flatMap(({ patch, index }) => (patch ? shares[index] : 0))),
  );
  const last = river.layers - 1;
  replace(
    root,
    h("h3", null, t("picture.rolled")),
    h(
      "div",
      { class: "rolled" },
      rolled.map((shares, i) => {
        const words = t(i ? "picture.back_to" : "picture.back_one", { from: last - i, to: last });
        return h("figure", null, pictureOver(tokens, shares, most, from), h("figcaption", null, words));
      }),
    ),
    h(
      "p",
      { class: "dim hint" },
      t("picture.rolled_about", { full: percent(most, 0), own: percent(rolled.at(-1)?.[from] ?? 0, 0) }),
    ),
  );
}

/** @typedef {ReturnType<typeof elementsOf>} Parts */

const elementsOf = perRoot((root) => {
  const about = h("span", { class: "dim" });
  const list = h("ol", { class: "class-bars" });
  const rows = h("div", null);
  const open = h("p", { class: "dim hint cls-open", "aria-live": "polite", dataset: { testid: "cls-open" } });
  const read = h("p", { class: "dim rest", dataset: { testid: "class-read" } });
  const title = h("h2", null, h("span", { class: "nowrap" }, t("classes.title")), about);
  const heading = h("h3", null, t("classes.rows"));
  const rolled = h("div", { dataset: { testid: "rolled" } });
  const looks = h("div", null, heading, rows, open, rolled);
  replace(root, title, list, read, looks);
  return { about, heading, list, looks, rows, open, read, rolled };
});

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const first = trace.model.special.first?.text ?? "[CLS]";
  drawBars(parts.list, trace.classes ?? []);
  setText(parts.read, t("classes.read", { first }));
  parts.looks.hidden = trace.attention.overview === null;
  if (parts.looks.hidden) return;
  keepingFocus(parts.rows, () => drawClsRows(parts.rows, trace, state, actions));
  replace(parts.open, openHead(trace, state));
  setText(parts.about, t(keyFor(trace.model, "classes.about")));
  setText(parts.heading, t("classes.rows"));
  parts.rolled.hidden = !trace.model.picture;
  if (trace.model.picture) drawForPicture(parts, trace, state);
}

/** In a picture any token can be the one that looks. @param {Parts} parts @param {HeadTrace} trace @param {State} state */
function drawForPicture({ heading, rolled }, trace, state) {
  const { tokens } = trace.queries;
  const looker = tokens[lookerIn(trace, state)];
  setText(heading, t("picture.rows", { query: looker.patch ? patchWords(looker.patch) : tokenName(looker) }));
  drawRolled(rolled, trace, looker.index);
}

/**
 * If there are more classes than the first number, only the most likely are listed (the second number), and the others
 * together.
 */
const [ALL, FIRST] = [20, 6];

/** One bar per class, with the most likely marked. @param {HTMLElement} list @param {NonNullable<ModelTrace["classes"]>} all */
function drawBars(list, all) {
  const most = Math.max(...all.map(({ probability }) => probability));
  const ranked = all.length > ALL ? [...all].sort((a, b) => b.probability - a.probability) : all;
  const classes = all.length > ALL ? ranked.slice(0, FIRST) : all;
  const rest = 1 - classes.reduce((sum, { probability }) => sum + probability, 0);
  const others = h(
    "li",
    { class: "rest dim", dataset: { testid: "classes-rest" } },
    t("classes.others", { n: all.length - classes.length, share: percent(Math.max(0, rest), 1) }),
  );
  replace(
    list,
    all.length > ALL && h("li", { class: "dim" }, t("classes.first", { n: FIRST, all: integer(all.length) })),
    classes.map(({ name, logit, probability }) =>
      h(
        "li",
        { class: probability === most ? "most" : null, dataset: { testid: "class", name, logit, probability } },
        h("span", { class: "name" }, className(name)),
        h("b", { class: "mono" }, percent(probability, 1)),
        h("span", { class: "track", "aria-hidden": true }, h("span", { style: { width: `${probability * 100}%` } })),
        h("small", { class: "mono dim" }, t("classes.logit", { value: signed(logit, 3) })),
      ),
    ),
    all.length > ALL && others,
  );
}

/** The strongest key of that token in the open head, from its float32 numbers. @param {HeadTrace} trace @param {State} state */
function openHead(trace, state) {
  const { layer, head } = state;
  const { data, shape } = trace.detail.overview;
  const at = lookerIn(trace, state);
  const row = data.subarray(at * shape[1], (at + 1) * shape[1]);
  const key = row.reduce((best, weight, i) => (weight > row[best] ? i : best), 0);
  const name = (/** @type {number} */ index) => h("b", { class: "mono" }, tokenName(trace.keys.tokens[index]));
  return phrase("classes.looks", {
    layer,
    head,
    first: name(at),
    key: name(key),
    at: key,
    weight: h("b", { class: "mono" }, significant(row[key])),
  });
}
