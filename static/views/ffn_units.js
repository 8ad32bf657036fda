/** The units of the open FFN that write most for the chosen token: how active, what they favour, what they add to the logit. */

import { colourTable, paintCells } from "../chart/matrix/sheet.js";
import { rampStops } from "../chart/theme.js";
import { activationOf } from "../model/activations.js";
import { answeringStack } from "../model/description.js";
import { largest, rowIn } from "../model/matrix.js";
import { position } from "../model/selection.js";
import { h, keepingFocus, perRoot, replace, setText } from "../ui/dom.js";
import { integer, number, signed, significant } from "../ui/format.js";
import { phrase, t } from "../ui/i18n.js";
import { className, couldFollow } from "../ui/token_text.js";
import { openFfn, strongest } from "./ffn/data.js";
import { tokenInRole } from "./inspector/parts.js";

/**
 * @import { FetchedTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { Actions, FetchedDraw } from "./view.js"
 */

/**
 * @typedef {{unit: number, activation: number, length: number, value: number, favours: number[]}} UnitTerm
 * @typedef {{row: number, answer: number, tokens: Object<number, any>, classes: string[],
 *   units: {layer: number, units: UnitTerm[], total: number}|null}} Contributions
 */

/** How many units are listed. */
const MANY = 6;

const elementsOf = perRoot((root) => {
  const title = h("h2", null);
  const list = h("ol", { class: "unit-rows" });
  const note = h("p", { class: "dim" });
  const map = h("canvas", { class: "unit-map", role: "img", dataset: { testid: "unit-map" } });
  const about = h("span", { class: "dim" });
  root.append(title, list, note, h("div", { class: "unit-map-row" }, map, about));
  const parts = { title, list, note, map, about, choose: /** @type {(unit: number) => void} */ (() => {}), n: 0 };
  map.addEventListener("click", ({ offsetX, offsetY }) => {
    const cols = map.width;
    const [col, row] = [(offsetX / map.clientWidth) * cols, (offsetY / map.clientHeight) * map.height];
    const unit = Math.floor(row) * cols + Math.floor(col);
    if (unit < parts.n) parts.choose(unit);
  });
  return parts;
});

/**
 * Of this token, what its units add to the answer; null where they add to none: in an encoder that does not answer, on another
 * row than the one that is read, or in a file.
 * @param {FetchedTrace} trace @param {State} state @param {{stack: string, query: number}} of @returns {Contributions|null}
 */
function termsOf(trace, { layer }, { stack, query }) {
  const found = /** @type {Contributions|null|undefined} */ (trace.explained.contributions);
  const here = stack === answeringStack(trace.model).id && found?.units?.layer === layer && found.row === query;
  return here ? /** @type {Contributions} */ (found) : null;
}

/** @type {FetchedDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const ffn = openFfn(state, trace.model);
  const { query } = position(state, trace);
  /** @type {Float32Array} */
  const post = rowIn(trace.tensor(ffn.post), query);
  const found = termsOf(trace, state, { stack: ffn.stack, query });
  const active = post.reduce((count, value) => count + (value > 0 ? 1 : 0), 0);
  const token = tokenInRole(trace.queries.tokens, query, "q");
  const word = activationOf(ffn.activation).silences ? "active" : "above";
  const vars = { n: active === 1 ? 1 : integer(active), of: integer(post.length) };
  const words = h("span", null, t(`ffn.card_${word}`, vars), " ", t(found ? "ffn.card_most" : "ffn.card_strongest"));
  replace(parts.title, token, " ", words);
  parts.choose = (unit) => actions.set({ query, ffnUnit: unit });
  parts.n = post.length;
  const before = trace.queries.tokens[query];
  const rows = found ? termRows(found, before, parts.choose) : activeRows(post, parts.choose);
  keepingFocus(parts.list, () => replace(parts.list, rows));
  replace(
    parts.note,
    found ? phrase("ffn.card_note", { token: answerOf(found, found.answer, before) }) : t("ffn.card_note_plain"),
  );
  paintUnits(parts.map, post);
  setText(parts.about, t("ffn.card_map", { n: integer(post.length) }));
  parts.map.setAttribute("aria-label", t("ffn.card_map", { n: integer(post.length) }));
}

/** @param {Contributions} found @param {number} id @param {any} before  the token after which it could stand */
const answerOf = ({ tokens, classes }, id, before) =>
  h("b", { class: "token-name" }, classes.length ? className(classes[id]) : couldFollow(tokens[id], before));

/** @param {Contributions} found @param {any} before @param {(unit: number) => void} choose */
function termRows(found, before, choose) {
  const { units } = /** @type {NonNullable<Contributions["units"]>} */ (found.units);
  const listed = units.slice(0, MANY).filter(({ length }) => length > 0);
  return listed.map(({ unit, activation, length, value, favours }) => {
    const names = favours.map((id, i) => [i ? " · " : "", answerOf(found, id, before)]);
    return rowOf({
      unit,
      below: h("small", { class: "dim mono" }, `post ${number(activation, 2)}`),
      share: length / listed[0].length,
      about: h("span", { class: "favours" }, phrase("ffn.favours", { tokens: h("span", null, names) })),
      value: [
        number(length, 2),
        h("small", { class: "dim" }, answerOf(found, found.answer, before), ` ${signed(value, 2)}`),
      ],
      choose,
      data: { value, length },
    });
  });
}

/** @param {Float32Array} post @param {(unit: number) => void} choose */
function activeRows(post, choose) {
  const listed = strongest(post, MANY);
  return listed.map(({ index, value }) =>
    rowOf({
      unit: index,
      below: null,
      share: value / listed[0].value,
      about: null,
      value: [significant(value, 3)],
      choose,
      data: {},
    }),
  );
}

/**
 * @param {{unit: number, below: Node|null, share: number, about: Node|null, value: (Node|string)[], choose: (unit: number) => void, data: object}} of
 */
function rowOf({ unit, below, share, about, value, choose, data }) {
  const bar = h("span", { class: "track", "aria-hidden": true }, h("span", { style: { width: `${share * 100}%` } }));
  const attrs = {
    class: "unit-row",
    type: "button",
    title: t("ffn.card_open"),
    dataset: { testid: "unit-row", unit, focus: String(unit), ...data },
    on: { click: () => choose(unit) },
  };
  const inside = [
    h("span", null, h("b", null, t("ffn.unit", { unit })), below),
    h("span", null, bar, about),
    h("span", { class: "mono" }, value),
  ];
  return h("li", null, h("button", attrs, inside));
}

/** All units in their order, row after row. @param {HTMLCanvasElement} canvas @param {Float32Array} post */
function paintUnits(canvas, post) {
  const cols = 2 ** Math.ceil(Math.log2(Math.sqrt(post.length * 4)));
  const rows = Math.ceil(post.length / cols);
  const values = new Float32Array(rows * cols);
  values.set(post.map((value) => Math.max(0, value)));
  const most = values[largest(values)] || 1;
  const scale = { stops: rampStops("weights"), min: 0, max: most, seen: /** @type {[number, number]} */ ([0, most]) };
  paintCells(canvas, { values, shape: [rows, cols] }, colourTable(scale));
}
