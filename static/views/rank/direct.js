/** Direct logit attribution: what each head, FFN and the rest wrote for the answer, as maps layers × heads and by position. */

import { drawMatrix } from "../../chart/matrix/matrix.js";
import { scaleLegend, signedScale } from "../../chart/matrix/scale.js";
import { RANK_AGAINST, rankState } from "../../data/explain.js";
import { answeringStack, attentionsOf } from "../../model/description.js";
import { labelName, namesIn, tokenLabel } from "../../model/labels.js";
import { indexOfMost } from "../../model/matrix.js";
import { rowOf } from "../../model/selection.js";
import { segment } from "../../ui/controls.js";
import { h, plainText, replace, setText, shareCell } from "../../ui/dom.js";
import { checkMark, errorText, number, signed } from "../../ui/format.js";
import { attentionName } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { className } from "../../ui/token_text.js";
import { answerPlace, ffnName, headName, opening } from "./effects.js";
import { blocksOf, buildBlock, layerRows, mostAfter, tonesOf } from "./map.js";

/**
 * @import { Scale } from "../../chart/matrix/scale.js"
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Attention, Model } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Block } from "./map.js"
 */

/**
 * @typedef {{part: string, path: string, layer: number|null, attention: string|null, head: number|null, value: number, keys: number[]|null}} Term
 * @typedef {Object} Direct  the answer to "contributions"
 * @property {number} answer @property {number|"mean"|null} against @property {Term[]} terms
 * @property {number} logit  the model's own @property {string[]} classes @property {Object<number, any>} tokens
 */

/** Smaller terms than this stay pale. */
const PALE = 0.1;

/** A cell narrower than this, in pixels, has no room for a decimal. */
const ONE = 30;

/** What is no head and no FFN, in this order. */
const REST = ["embedding", "position", "attention_bias", "ffn_bias", "norm_bias", "output_bias", "edited"];

export function buildDirect() {
  const against = segment(t("direct.against"), RANK_AGAINST, "direct-against", (name) => t(`direct.against_${name}`));
  const [said, about] = [h("h2", { dataset: { testid: "direct-said" } }), h("p", { class: "rank-about dim" })];
  const [legend, maps, rest] = [h("p", { class: "rank-legend dim" }), h("div", { class: "rank-maps" }), h("div", null)];
  const shown = h("div", { class: "rank-columns" }, maps, rest);
  const head = h("div", { class: "rank-head" }, said, against.box);
  const element = h("section", null, head, legend, shown, about);
  return {
    element,
    against,
    said,
    about,
    legend,
    maps,
    rest,
    shown,
    blocks: /** @type {Map<string, Block>} */ (new Map()),
  };
}

/** @typedef {ReturnType<typeof buildDirect>} Parts */

/** @param {Parts} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function drawDirect(parts, trace, state, actions) {
  const { against } = rankState.of(state);
  parts.against.show(against, (name) => actions.set(rankState.patch({ against: name })));
  const found = trace.explained.direct;
  const known = Boolean(found?.terms);
  parts.shown.hidden = parts.about.hidden = parts.legend.hidden = !known;
  if (found?.refused) return setText(parts.said, errorText(found.refused));
  if (!known) return setText(parts.said, t(found === null ? "rank.pad" : "rank.begins"));
  const all = /** @type {Direct} */ (found);
  const [heads, ffns] = ["head", "ffn"].map((part) => totalOf(all.terms, part));
  const total = all.terms.reduce((sum, { value }) => sum + value, 0);
  const answer = h("b", null, nameOf(all, all.answer));
  const other = all.against === "mean" ? t("direct.mean") : h("b", null, nameOf(all, Number(all.against)));
  const sums = { heads: signed(heads, 2), ffns: signed(ffns, 2), rest: signed(total - heads - ffns, 2) };
  replace(
    parts.said,
    h(
      "span",
      null,
      phrase("direct.said", { answer, other, logit: h("b", { class: "mono" }, signed(all.logit, 2)), ...sums }),
    ),
    " ",
    checkMark(total, all.logit),
  );
  setText(parts.about, t("direct.about"));
  drawMaps(parts, all, trace, state, actions);
}

/** @param {Direct} found @param {number} id */
const nameOf = ({ classes, tokens }, id) =>
  classes.length ? className(classes[id]) : labelName(tokenLabel(tokens[id]));

/** What the numbers of a saved map are. @param {Direct} found @param {string} place */
function figureAbout(found, place) {
  const said = { answer: nameOf(found, found.answer), logit: signed(found.logit, 2), place };
  if (found.against === "mean") return t("direct.figure_mean", said);
  return t("direct.figure", { ...said, other: nameOf(found, Number(found.against)) });
}

/** @param {Term[]} terms @param {string} part */
const totalOf = (terms, part) => terms.reduce((sum, one) => sum + (one.part === part ? one.value : 0), 0);

/**
 * The terms of one attention, layers × heads; the last attention of the stack also has a column for its FFNs.
 * @param {Term[]} terms @param {Attention} attention @param {boolean} withFfns
 */
export function mapOf(terms, { id, n_layer, n_head }, withFfns) {
  const cols = n_head + (withFfns ? 1 : 0);
  const values = new Float32Array(n_layer * cols);
  for (const { part, attention, layer, head, value } of terms) {
    if (layer === null) continue;
    if (part === "head" && attention === id && head !== null) values[layer * cols + head] = value;
    if (part === "ffn" && withFfns) values[layer * cols + n_head] = value;
  }
  return { values, shape: /** @type {[number, number]} */ ([n_layer, cols]) };
}

/**
 * What all heads of each layer bring from each position: layers × keys. null: an intervention wrote what a head brings.
 * @param {Term[]} terms @param {Attention} attention @param {number} n_key
 */
export function byPosition(terms, { id, n_layer }, n_key) {
  const heads = terms.filter(({ part, attention }) => part === "head" && attention === id);
  if (heads.some(({ keys }) => keys === null)) return null;
  const values = new Float32Array(n_layer * n_key);
  for (const { layer, keys } of heads)
    keys?.forEach((value, key) => {
      values[/** @type {number} */ (layer) * n_key + key] += value;
    });
  return { values, shape: /** @type {[number, number]} */ ([n_layer, n_key]) };
}

/** @param {Parts} parts @param {Direct} found @param {ModelTrace} trace @param {State} state @param {Actions} actions */
function drawMaps(parts, found, trace, state, actions) {
  const { model } = trace;
  const stack = answeringStack(model);
  const attentions = attentionsOf(model).filter((one) => one.stack === stack.id);
  const of = attentions.map((one) => mapOf(found.terms, one, one === attentions.at(-1)));
  // An FFN often writes more than all heads together: the colours are for the heads.
  const heads = found.terms.filter(({ part }) => part === "head").map(({ value }) => value);
  const scale = signedScale(Float32Array.from(heads), "signed", PALE);
  const ffns = Float32Array.from(found.terms.filter(({ part }) => part === "ffn").map(({ value }) => value));
  const own = ffns.length ? ` · ${t("rank.ffn_scale", { most: signed(mostAfter(ffns, 1, 0), 2) })}` : "";
  replace(parts.legend, scaleLegend(scale, { number: (value) => number(value, 2) }), " ", t("direct.legend"), own);
  const names = attentions.flatMap(({ id }) => [id, `${id} keys`]);
  const blocks = blocksOf(parts.blocks, names, buildBlock, (all) => {
    replace(parts.maps, ...all.filter((_, i) => i % 2 === 0));
    parts.rest.replaceChildren(...all.filter((_, i) => i % 2 === 1), h("div", null));
  });
  const again = () => drawMaps(parts, found, trace, state, actions);
  const row = rowOf(state, trace);
  const about = figureAbout(found, answerPlace(trace, row));
  attentions.forEach((attention, i) => {
    drawHeads(blocks[2 * i], of[i], { attention, scale, about, again, model }, state, actions);
    drawPositions(blocks[2 * i + 1], found.terms, { attention, about, again, trace, row });
  });
  parts.rest.lastElementChild?.replaceChildren(restTable(found.terms));
}

/**
 * @param {Block} block @param {{values: Float32Array, shape: [number, number]}} map
 * @param {{attention: Attention, scale: Scale, about: string, again: () => void, model: Model}} of @param {State} state @param {Actions} actions
 */
function drawHeads(block, { values, shape }, { attention, scale, about, again, model }, state, actions) {
  const id = attention.id;
  const name = attentionName(model, id);
  setText(block.title, [t("direct.by_head"), name].filter(Boolean).join(" · "));
  const isHead = (/** @type {number} */ col) => col < attention.n_head;
  const nameAt = (/** @type {number} */ layer, /** @type {number} */ head) =>
    isHead(head)
      ? headName(model, { attention: id, layer, head })
      : ffnName(model, { stack: answeringStack(model).id, layer });
  const heads = Array.from({ length: attention.n_head }, (_, head) => String(head));
  drawTerms(block, again, {
    ...{ id: `direct-${id}`, about, values, shape, scale },
    label: t("direct.label", { rows: shape[0], cols: attention.n_head }),
    cols: { labels: shape[1] > heads.length ? [...heads, t("rank.ffn_column")] : heads, title: t("rank.heads") },
    edges: shape[1] > heads.length ? { col: heads.length } : undefined,
    words: (row, col, value) => t("direct.term", { part: nameAt(row, col), value }),
    onOpen: (row, col) =>
      actions.set(
        isHead(col)
          ? opening({ attention: id, layer: row, head: col }, actions.get())
          : { view: "ffn", attention: id, layer: row },
      ),
  });
}

/** @param {Block} block @param {Term[]} terms @param {{attention: Attention, about: string, again: () => void, trace: ModelTrace, row: number}} of */
function drawPositions(block, terms, { attention, about, again, trace, row }) {
  const side = trace.sides[attention.keys];
  const labels = namesIn(side?.tokens ?? []);
  const found = byPosition(terms, attention, labels.length);
  const name = attentionName(trace.model, attention.id);
  setText(block.title, [t("direct.by_position"), name].filter(Boolean).join(" · "));
  block.place.hidden = found === null;
  if (!found) return setText(block.title, t("direct.no_positions"));
  drawTerms(block, again, {
    ...{ ...found, about, id: `direct-keys-${attention.id}`, scale: signedScale(found.values, "signed", PALE) },
    label: t("direct.by_position"),
    cols: { labels, title: t("direct.keys") },
    forbidden: forbiddenKeys(trace, attention, row, labels.length),
    words: (row, col, value) => t("direct.brought", { key: labels[col], layer: row, value }),
  });
}

/**
 * The keys that no head of a layer may attend to from a row: [layer, key], not 0. null: all may, or (of a pooled trace) it is not known.
 * @param {ModelTrace} trace @param {Attention} attention @param {number} row @param {number} n_key
 */
function forbiddenKeys(trace, { id, n_layer, n_head, roles }, row, n_key) {
  if (trace.pool > 1 || !roles.mask) return null;
  const found = new Uint8Array(n_layer * n_key).fill(1);
  for (let layer = 0; layer < n_layer; layer++) {
    for (let head = 0; head < n_head; head++) {
      const reasons = trace.mask(layer, head, id).subarray(row * n_key, (row + 1) * n_key);
      reasons.forEach((reason, key) => {
        if (reason === 0) found[layer * n_key + key] = 0;
      });
    }
  }
  return found.includes(1) ? found : null;
}

/** The cell that is chosen first: the largest term, of the first `heads` columns if FFNs follow them. @param {Float32Array} values @param {[number, number]} shape @param {number} [heads] */
export const strongestIn = (values, [, cols], heads = cols) =>
  indexOfMost(values.map((value, i) => (i % cols < heads ? Math.abs(value) : -1)));

/**
 * One map of signed terms.
 * @param {Block} block @param {() => void} again  draws it again with another chosen cell
 * @param {{id: string, about: string, values: Float32Array, shape: [number, number], scale: Scale, label: string, cols: {labels: string[], title: string},
 *   edges?: {col: number}, forbidden?: Uint8Array|null, words: (row: number, col: number, value: string) => string, onOpen?: (row: number, col: number) => void}} map
 */
function drawTerms(
  block,
  again,
  { id, about, values, shape, scale, label, cols, edges, forbidden = null, words, onOpen },
) {
  const strongest = strongestIn(values, shape, edges?.col);
  const { row, col } = block.cursor ?? { row: Math.floor(strongest / shape[1]), col: strongest % shape[1] };
  const n_head = edges?.col ?? shape[1];
  const cell = (/** @type {number} */ r, /** @type {number} */ c) => words(r, c, signed(values[r * shape[1] + c], 3));
  drawMatrix(block.place, {
    ...{ id, values, shape, scale, edges, onOpen, forbidden, wide: true, tall: true, numbers: true },
    tones: tonesOf(values, shape[1], n_head, scale, mostAfter(values, shape[1], n_head)),
    title: plainText([t("direct.title"), " · ", block.title.textContent ?? ""]),
    about,
    label: `${block.title.textContent}. ${label}`,
    bare: true,
    rows: { ...layerRows(shape[0]), title: t("rank.layers"), role: "" },
    cols: { ...cols, role: "" },
    // What rounds to nothing would hide the few that write the answer.
    cellText: (value, { w }) => (w < ONE || Math.abs(value) < 0.05 ? "" : signed(value, w < 2 * ONE ? 1 : 2)),
    hover: (r, c) => [cell(r, c)],
    describe: (r, c) => [cell(r, c)],
    chosen: { row: Math.min(row, shape[0] - 1), col: Math.min(col, shape[1] - 1), span: "cell", role: "k" },
    onChoose(r, c) {
      block.cursor = { row: r, col: c };
      again();
    },
    filename: `chumoku-${id}`,
  });
}

/** What is no head and no FFN: embedding, positions, biases. @param {Term[]} terms */
function restTable(terms) {
  const parts = REST.filter((part) => terms.some((one) => one.part === part));
  const values = parts.map((part) => totalOf(terms, part));
  const most = Math.max(...values.map(Math.abs)) || 1;
  const rows = parts.map((part, i) =>
    h(
      "tr",
      { dataset: { testid: "direct-rest", part, value: values[i] } },
      h("th", { scope: "row" }, t(`direct.part_${part}`)),
      shareCell(Math.abs(values[i]) / most, signed(values[i], 3)),
    ),
  );
  const caption = h("caption", null, t("direct.rest"));
  return h("table", { class: "token-table" }, caption, h("tbody", null, rows));
}
