/** The prediction on one screen: what adds up to the logit of an answer, the heads that add most, and the next tokens. */

import { drawBars } from "../../chart/bars/bars.js";
import { paintHead } from "../../chart/matrix/sheet.js";
import { pixelTable } from "../../chart/theme.js";
import { rankState } from "../../data/explain.js";
import { attentionOf, attentionsOf, can, isCross, writesTarget } from "../../model/description.js";
import { labelName, tokenLabel } from "../../model/labels.js";
import { sum } from "../../model/matrix.js";
import { h, keepingFocus, perRoot, replace, signedTrack } from "../../ui/dom.js";
import { checkMark, number, signed } from "../../ui/format.js";
import { headWords } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";

/**
 * @import { ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { Model } from "../../model/description.js"
 * @import { Actions } from "../view.js"
 */

/**
 * @typedef {{part: string, value: number, attention: string|null, layer: number|null, head: number|null}} Term
 * @typedef {{part: "start"|"attention"|"ffn"|"biases", attention: string|null, layer: number|null, value: number}} Row
 * @typedef {{answer: number, terms: Term[], logit: number, tokens: Object<number, any>}} Contributions  the answer to "contributions"
 */

/** How many heads and how many tokens are listed. */
const [HEADS, TOKENS] = [8, 13];

/** In which row a term is counted. @param {Term} term @returns {Row["part"]} */
function partOf({ part }) {
  if (part === "embedding" || part === "position") return "start";
  if (part === "head" || part === "edited") return "attention";
  return part === "ffn" ? "ffn" : "biases";
}

/**
 * The terms of a logit, summed by where they were written: embedding and position, each attention, each FFN, all biases.
 * @param {Term[]} terms  in the order in which they were written @returns {Row[]}
 */
export function logitRows(terms) {
  /** @type {Map<string, Row>} */
  const rows = new Map();
  for (const term of terms) {
    const part = partOf(term);
    const inLayer = part === "attention" || part === "ffn";
    const [attention, layer] = [part === "attention" ? term.attention : null, inLayer ? term.layer : null];
    const key = `${part} ${attention} ${layer}`;
    const row = rows.get(key) ?? { part, attention, layer, value: 0 };
    rows.set(key, { ...row, value: row.value + term.value });
  }
  const all = [...rows.values()];
  return [...all.filter(({ part }) => part !== "biases"), ...all.filter(({ part }) => part === "biases")];
}

/** The heads that add most to the logit, or take most from it. @param {Term[]} terms @param {number} k */
export const strongestHeads = (terms, k) =>
  terms
    .filter(({ part }) => part === "head")
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    .slice(0, k);

const elementsOf = perRoot((root) => {
  const answer = h("select", { "aria-label": t("inspector.logit_choose"), dataset: { testid: "logit-answer" } });
  const logit = h("b", { class: "mono", dataset: { testid: "logit" } });
  const check = h("span");
  const name = h("span", null, phrase("logit.sum", { token: answer }));
  const sumCard = card("logit-sum", h("h2", null, name, h("span", null, logit, " ", check)));
  const rank = h("span", null);
  const headCard = card("logit-heads", h("h2", null, h("span", null, t("logit.heads")), rank));
  const nextCard = card("next-tokens", h("h2", null, t("next.title")));
  const element = h("div", { class: "cards-row" }, sumCard.element, headCard.element, nextCard.element);
  root.append(element);
  return { element, sumCard, headCard: { ...headCard, rank }, nextCard, answer, logit, check };
});

/** @param {string} name @param {HTMLElement} title */
function card(name, title) {
  const place = h("div", { class: "card-body" });
  const said = h("p", { class: "dim" });
  const element = h("section", { class: "card-box", dataset: { testid: name } }, title, place, said);
  return { element, title, place, said };
}

/**
 * @param {HTMLElement} root @param {ModelTrace} trace
 * @param {{prediction: Prediction, actual: number|null, take: ((id: number) => void)|null, said: Node[], all: HTMLElement}} of  `take`: what a click on a token does; `said`: about all tokens; `all`: opens them
 * @param {Actions} actions
 */
export function drawCards(root, trace, { prediction, actual, take, said, all }, actions) {
  const parts = elementsOf(root);
  const { element, sumCard, headCard, nextCard } = parts;
  /** @type {Contributions|null} */
  const found = can(trace.model, "contributions") ? (trace.explained.contributions ?? null) : null;
  const known = found !== null && Array.isArray(found.terms);
  element.classList.toggle("one", !known);
  element.classList.toggle("low", writesTarget(trace.model)); // it stands below two lines of text
  sumCard.element.hidden = headCard.element.hidden = !known;
  if (known) {
    drawAnswer(parts, found, prediction, actions);
    drawSum({ ...sumCard, check: parts.check }, found, trace, actions);
    drawHeads(headCard, found, trace, actions);
  }
  drawBars(nextCard.place, { candidates: prediction.candidates.slice(0, TOKENS), actual, onTake: take });
  replace(nextCard.said, said);
  if (all.parentElement !== nextCard.title) nextCard.title.append(all);
}

/** @typedef {ReturnType<typeof card>} Card */

/**
 * Whose logit is shown: the most likely token, or one that was chosen.
 * @param {ReturnType<typeof elementsOf>} parts @param {Contributions} found @param {Prediction} prediction @param {Actions} actions
 */
function drawAnswer(parts, { answer, logit, tokens }, { candidates }, actions) {
  const listed = candidates.some(({ id }) => id === answer) ? candidates : [tokens[answer], ...candidates];
  const options = listed.map((token) =>
    h("option", { value: token.id, selected: token.id === answer }, labelName(tokenLabel(token))),
  );
  replace(parts.answer, options);
  parts.answer.onchange = () => {
    const id = Number(parts.answer.value);
    actions.set({ answer: id === candidates[0].id ? null : id });
  };
  replace(parts.logit, number(logit, 2));
}

/** @param {Card & {check: HTMLElement}} card @param {Contributions} found @param {ModelTrace} trace @param {Actions} actions */
function drawSum({ place, said, check }, { terms, logit }, trace, actions) {
  const rows = logitRows(terms);
  const reach = Math.max(...rows.map(({ value }) => Math.abs(value))) || 1;
  const list = h(
    "ol",
    { class: "sum-rows", "aria-label": t("logit.sum_label") },
    rows.map((row) => sumRow(row, reach, trace.model, actions)),
  );
  keepingFocus(place, () => replace(place, list));
  const total = sum(terms.map(({ value }) => value));
  replace(check, checkMark(total, logit));
  replace(said, t("logit.sum_said", { sum: number(total, 2) }));
}

/** @param {Row} row @param {number} reach @param {Model} model @param {Actions} actions */
function sumRow({ part, attention, layer, value }, reach, model, actions) {
  const which = attention !== null && isCross(attentionOf(model, attention)) ? "cross" : part;
  const name = t(`logit.part_${which}`, { layer: layer ?? 0 });
  const open = placeOf(part, attention, layer, model);
  const bar = h("span", {
    class: value < 0 ? "bar down" : "bar up",
    style: { width: `${(Math.abs(value) / reach) * 50}%` },
  });
  const inside = [
    h("span", { class: "name" }, name),
    h("span", { class: "track", "aria-hidden": true }, bar),
    h("b", { class: "mono" }, signed(value, 2)),
  ];
  const dataset = { testid: "sum-row", part: which, layer, value, focus: `${which}-${layer}` };
  if (!open) return h("li", null, h("span", { class: "sum-row", dataset }, inside));
  const attrs = { class: "sum-row", type: "button", dataset, on: { click: () => actions.set(open) } };
  return h("li", null, h("button", attrs, inside));
}

/**
 * Where in the model a row was written; null: in no one place.
 * @param {Row["part"]} part @param {string|null} attention @param {number|null} layer @param {Model} model
 */
function placeOf(part, attention, layer, model) {
  if (part === "start") return { view: "embedding" };
  if (part === "biases" || layer === null) return null;
  if (part === "attention") return { view: "attention", attention, layer };
  const own = attentionsOf(model).findLast(({ stack }) => stack === model.description.logits.stack);
  return { view: "ffn", attention: own?.id ?? null, layer };
}

/** @param {Card & {rank: HTMLElement}} card @param {Contributions} found @param {ModelTrace} trace @param {Actions} actions */
function drawHeads({ place, said, rank }, { terms }, trace, actions) {
  const heads = strongestHeads(terms, HEADS);
  const values = heads.map(({ value }) => value);
  const rows = heads.map((term) => h("li", null, headRow(term, values, trace, actions)));
  keepingFocus(place, () =>
    replace(place, h("ol", { class: "head-rows", "aria-label": t("logit.heads_label") }, rows)),
  );
  const isOffered = can(trace.model, "ablations") && trace.file === null;
  replace(said, t("logit.heads_said"));
  keepingFocus(rank, () => replace(rank, isOffered ? rankButton(actions) : null));
}

/** What a head adds is not what the answer loses without it. @param {Actions} actions */
function rankButton(actions) {
  const click = () => actions.set({ drawer: "rank", ...rankState.patch({ shows: "heads" }) });
  const attrs = { class: "btn", type: "button", dataset: { testid: "rank-heads", focus: "rank" }, on: { click } };
  return h("button", attrs, t("rank.title"));
}

/** @param {Term} term @param {number[]} values @param {ModelTrace} trace @param {Actions} actions */
function headRow({ attention, layer, head, value }, values, trace, actions) {
  const at = { attention, layer: layer ?? 0, head: head ?? 0 };
  const attrs = {
    class: "head-row",
    type: "button",
    "aria-label": `${headWords(trace.model, at)}: ${signed(value, 2)}`,
    dataset: { testid: "strong-head", ...at, value, focus: `${attention} ${layer} ${head}` },
    on: { click: () => actions.set({ view: "attention", ...at }) },
  };
  return h(
    "button",
    attrs,
    thumbnail(trace, at),
    h(
      "span",
      { class: "name" },
      t(isCross(attentionOf(trace.model, attention)) ? "logit.cross_head" : "logit.head", {
        layer: at.layer,
        head: at.head,
      }),
    ),
    signedTrack(value, values),
    h("b", { class: "mono" }, signed(value, 2)),
  );
}

/** @param {ModelTrace} trace @param {{attention: string|null, layer: number, head: number}} at */
function thumbnail(trace, { attention, layer, head }) {
  const canvas = h("canvas", { "aria-hidden": true });
  const picture = attention === null ? null : trace.picture(layer, head, attention);
  if (picture)
    paintHead(canvas, picture, trace.mask(layer, head, attention ?? undefined), pixelTable("weights"), [0, 0]);
  return canvas;
}
