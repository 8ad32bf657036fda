/** One element of z as a sum in words, and how much each key contributes to the row. */

import { namesIn } from "../../model/labels.js";
import { columnIn, largest, lengthOf, products, rowIn, shareAlong, sum } from "../../model/matrix.js";
import { position } from "../../model/selection.js";
import { knowsScores, scoringOf, valuesFor } from "../../model/weight_arithmetic.js";
import { queryName } from "../../model/written.js";
import { h, replace } from "../../ui/dom.js";
import { checkOf, number, percent, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { drawBarList, nameOfPart } from "../parts.js";

/**
 * @import { Detail, Floats, HeadTrace, ModelTrace } from "../../data/model_trace.js"
 * @import { State } from "../../state/store.js"
 * @import { Part } from "../parts.js"
 */

// A·V as numbers: one head's z, what each key contributes, and how much.

/** @typedef {{shape: number[], data: Float32Array}} Matrix */

/**
 * The chosen element of the open query: the state's dimension, or else the largest of `mixed`, which is z unless the head is off.
 * @param {State} state @param {ModelTrace} trace
 */
export function chosenElement(state, trace) {
  const { query, key } = position(state, trace);
  const mixed = mixedFor(valued(trace, query), query);
  const [asked, width] = [state.cell?.[1] ?? Infinity, mixed.length];
  const own = Math.floor(asked / width) === state.head ? asked % width : asked; // chosen where all heads are side by side
  return { query, key, dimension: own < width ? own : largest(mixed), mixed };
}

/** Σ_j a_j v_j of one query. @param {{pattern: Matrix, v: Matrix}} detail @param {number} query */
function mixedFor({ pattern, v }, query) {
  const mixed = new Float64Array(v.shape[1]);
  for (const [j, weight] of rowIn(pattern, query).entries())
    for (const [d, value] of rowIn(v, j).entries()) mixed[d] += weight * value;
  return mixed;
}

/**
 * The detail with what each key passes on to this query: v, plus the vector of the distance if there is one.
 * @param {ModelTrace} trace @param {number} query @returns {Detail}
 */
export function valued(trace, query) {
  const detail = /** @type {Detail} */ (trace.detail);
  const { distance } = knowsScores(trace.attention) ? scoringOf(trace) : { distance: null };
  return { ...detail, v: /** @type {Floats} */ (valuesFor({ v: detail.v, distance }, query)) };
}

/** The terms a_j · v_jd of one element of z: a number for each key. @param {{pattern: Matrix, v: Matrix}} detail @param {number} query @param {number} d */
export function termsOf({ pattern, v }, query, d) {
  const weights = rowIn(pattern, query);
  const column = columnIn(v, d);
  return { weights, column, terms: products(weights, column) };
}

/** a_j · v_jd of one query, for all keys and dimensions. @param {Matrix} v @param {ArrayLike<number>} weights @returns {Matrix} */
export function weighted({ shape, data }, weights) {
  const [rows, cols] = shape;
  const out = new Float32Array(rows * cols);
  for (let j = 0, i = 0; j < rows; j++) for (let d = 0; d < cols; d++, i++) out[i] = weights[j] * data[i];
  return { shape, data: out };
}

/**
 * The length a·‖v‖ of the vector that each key contributes to a query, longest first.
 * @param {Matrix} v @param {ArrayLike<number>} weights
 * @returns {{key: number, weight: number, length: number, moved: number}[]}
 */
function keyShares(v, weights) {
  const all = Array.from(weights, (weight, key) => {
    const length = lengthOf(rowIn(v, key));
    return { key, weight, length, moved: weight * length };
  });
  return all.filter(({ moved }) => moved > 0).sort((a, b) => b.moved - a.moved);
}

/** How many terms are written out, and how many keys have a bar. */
const [TERMS, KEYS] = [3, 10];

/**
 * z_id = Σ_j a_ij v_jd, with its largest terms.
 * @param {HTMLElement} root @param {HeadTrace} trace @param {Matrix} z @param {{query: number, dimension: number}} at
 * @param {boolean} isOff  whether the head is off: then the model's z is 0, whatever the sum
 */
export function drawElementSum(root, trace, z, { query, dimension }, isOff) {
  const { weights, column, terms } = termsOf(trace.detail, query, dimension);
  const order = [...terms.keys()].filter((j) => terms[j] !== 0).sort((a, b) => Math.abs(terms[b]) - Math.abs(terms[a]));
  const total = sum(terms);
  const rest = order.slice(TERMS);
  const written = order
    .slice(0, TERMS)
    .flatMap((j, i) => [i > 0 && " + ", termOf(weights[j], column[j], namesIn(trace.keys.tokens)[j])]);
  const more = rest.length > 0 && [
    " + ",
    h(
      "span",
      { class: "dim" },
      t("av.more_terms", { n: rest.length, value: significant(sum(rest.map((j) => terms[j])), 3) }),
    ),
  ];
  const name = [h("i", null, "z"), h("sub", null, `${queryName(trace, query)}, ${dimension}`)];
  const value = h("b", null, significant(total, 5));
  replace(
    root,
    h("span", { class: "mono" }, name, " = ", order.length ? [written, more, " = "] : "", value),
    " ",
    isOff ? h("span", { class: "check" }, t("card.z_off")) : checkOf(total, rowIn(z, query)[dimension]),
  );
}

/** @param {number} weight @param {number} value @param {string} key */
function termOf(weight, value, key) {
  const signed = value < 0 ? `(${number(value, 3)})` : number(value, 3);
  return h(
    "span",
    { class: "term", title: t("av.term", { key }) },
    significant(weight, 3),
    "·",
    h("span", { class: "v" }, signed),
  );
}

/**
 * a·‖v‖ of each key, longest first.
 * @param {Part} place @param {HeadTrace} trace @param {{query: number, key: number, mixed: Float64Array}} at @param {boolean} isOff
 * @param {(key: number) => void} onChoose
 */
export function drawShares(place, trace, { query, key, mixed }, isOff, onChoose) {
  const { keys } = trace;
  const { v, pattern } = trace.detail;
  const all = keyShares(v, rowIn(pattern, query));
  const total = all.reduce((sum, { moved }) => sum + moved, 0);
  const names = namesIn(keys.tokens);
  const token = h("b", { class: "q", translate: "no" }, queryName(trace, query));
  const along = pattern.data[query * names.length + key] * shareAlong(rowIn(v, key), mixed);
  const about = { key: h("b", { class: "k", translate: "no" }, names[key]), share: percent(along) };
  const says = all.length
    ? h("span", null, phrase(isOff ? "av.shares_off" : "av.shares_about", about))
    : t("av.shares_none");
  nameOfPart(place, phrase("av.shares_title", { token }), says);
  const bars = all.slice(0, KEYS).map((one) => ({
    id: String(one.key),
    name: names[one.key],
    share: one.moved / all[0].moved,
    value: percent(one.moved / total),
    words: t("av.share", {
      key: names[one.key],
      a: significant(one.weight),
      length: significant(one.length),
      moved: significant(one.moved),
      share: percent(one.moved / total, 2),
    }),
    chosen: one.key === key,
    role: "v",
    onChoose: () => onChoose(one.key),
  }));
  drawBarList(place.place, { label: t("av.shares_label", { n: all.length }), bars });
  replace(place.said, saidOf(all, total, lengthOf(mixed), isOff));
  place.said.dataset.total = String(total);
}

/** @param {ReturnType<typeof keyShares>} all @param {number} total @param {number} length @param {boolean} isOff */
function saidOf(all, total, length, isOff) {
  if (!all.length) return "";
  const hidden = all.slice(KEYS);
  const rest = hidden.reduce((sum, { moved }) => sum + moved, 0);
  const more = hidden.length > 0 && `${t("av.shares_more", { n: hidden.length, share: percent(rest / total) })} `;
  return [
    more,
    t(isOff ? "av.shares_sum_off" : "av.shares_sum", { total: significant(total), length: significant(length) }),
  ];
}
