/**
 * The river in words, from measured numbers: the sentence over the picture (what the model says, what decides it, what a knockout has
 * changed), the legend, and the table of its lines.
 */

import { fillsMask, predictsTokens, writesTarget } from "../../model/description.js";
import { nameText } from "../../model/labels.js";
import { h, perRoot, replace } from "../../ui/dom.js";
import { briefPercent } from "../../ui/format.js";
import { keyFor, phrase, t } from "../../ui/i18n.js";
import { effectOf } from "../facts.js";
import { answerName, endsOf, ffnRatio, layerTitle, shareBetween } from "./names.js";

/**
 * @import { Edge } from "../../model/interventions.js"
 * @import { Name } from "../../model/labels.js"
 * @import { Answer, Facts } from "../facts.js"
 * @import { Bead } from "../layout/layout.js"
 * @import { Line } from "../layout/lines.js"
 */

// The river as a table: its lines, the widest first. Built when it is opened.

/** The most lines that the table lists. */
const MOST = 64;

/** @typedef {{layer: string, query: string, key: string, share: number, after: string}} Entry  @typedef {{lines: Entry[], beads: [string, string][]}} Entries */

const tableParts = perRoot((root) => {
  const body = h("tbody");
  const head = ["layer", "query", "key", "share", "after"].map((name) =>
    h("th", { scope: "col" }, t(`river.table.${name}`)),
  );
  const table = h(
    "table",
    null,
    h("caption", null, t("river.table.caption", { n: MOST })),
    h("thead", null, h("tr", null, head)),
    body,
  );
  const beads = h("tbody");
  const ffn = h(
    "table",
    null,
    h("caption", null, t("river.table.ffn")),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        ["layer", "times"].map((name) => h("th", { scope: "col" }, t(`river.table.${name}`))),
      ),
    ),
    beads,
  );
  const box = h(
    "div",
    { class: "table-box", tabindex: 0, role: "region", "aria-label": t("river.table.open") },
    table,
    ffn,
  );
  const details = h("details", { class: "river-table" }, h("summary", null, t("river.table.open")), box);
  const parts = { details, body, beads, ffn, entries: () => /** @type {Entries} */ ({ lines: [], beads: [] }) };
  details.addEventListener("toggle", () => build(parts));
  root.append(details);
  return parts;
});

/** @param {HTMLElement} root @param {() => Entries} entries  called when the table is open */
export function drawTable(root, entries) {
  const parts = tableParts(root);
  parts.entries = entries;
  build(parts);
}

/** @param {ReturnType<typeof tableParts>} parts */
function build({ details, body, beads, ffn, entries }) {
  if (!details.open) return replace(body);
  const all = entries();
  const widest = all.lines.sort((a, b) => b.share - a.share).slice(0, MOST);
  replace(
    body,
    widest.map((one) => row([one.layer, one.query, one.key, briefPercent(one.share), one.after])),
  );
  ffn.hidden = all.beads.length === 0;
  replace(beads, all.beads.map(row));
}

/** @param {string[]} cells */
const row = (cells) =>
  h(
    "tr",
    null,
    cells.map((text) => h("td", null, text)),
  );

/** A line as a row of the table. @param {Facts} facts @param {Line} line @returns {Entry} */
export function entryOf(facts, line) {
  const after = effectOf(facts, line)?.p;
  return {
    ...endsOf(facts, line),
    layer: layerTitle(facts.rolled[line.to].river, line.layer, false),
    share: line.share,
    after: after === undefined ? t("river.table.unknown") : briefPercent(after),
  };
}

/** As a row of the table. @param {Facts} facts @param {Bead} bead @returns {[string, string]} */
export const beadEntry = ({ rolled: [{ river }] }, bead) => [layerTitle(river, bead.layer, false), ffnRatio(bead)];

// The texts around the picture: what the model does, and what widths and darkness mean.

/** What this model does, in a sentence. @param {any} model */
export function aboutModel(model) {
  if (writesTarget(model)) return t("river.about_translates");
  if (predictsTokens(model)) return t("river.about");
  const first = model.special.first?.text; // a newcomer meets it as the token whose answer the picture shows
  if (!first || fillsMask(model)) return t("river.about_reads");
  return t(model.picture ? "river.about_picture" : "river.about_gathers", { first });
}

/** What the picture means; of darkness, once it is measured. @param {Facts} facts */
export function riverLegend({ names, row, measured, canKnockOut, isSaved }) {
  const token = nameText(names[0][row]);
  if (names[0].length === 1) return t("river.legend_alone");
  if (!measured) return `${t("river.legend_widths", { token })}${isSaved ? "" : t("river.legend_uncuttable")}`;
  if (measured?.error) return `${t("river.legend_widths", { token })}${t("river.legend_unmeasured")}`;
  if (measured.idle) return t("river.legend_widths", { token });
  if (!measured?.effects.size) return `${t("river.legend_widths", { token })}${t("river.legend_measuring")}`;
  const isLast = row === names[0].length - 1;
  const means = t(isLast ? "river.legend" : "river.legend_token", { token });
  return canKnockOut ? `${means}${t("river.legend_click")}` : means;
}

/**
 * @typedef {(Node|string)[]} Words
 */

/** @param {Name} name */
const query = (name) => h("b", { class: "q" }, nameText(name));
/** @param {Name} name */
const key = (name) => h("b", { class: "looked" }, nameText(name));
/** @param {Answer} answer */
const answerMark = (answer) => h("b", { class: "said" }, answerName(answer));

/**
 * @typedef {{layer: number, head: number, edge: Edge, weight: number|null}} HeadSaid  the chosen weight of the open head; null: it is
 *   not here yet
 */

/**
 * What is seen, and the one edit that matters most.
 * @param {Facts} facts @param {string} predicts  what a row is about @param {HeadSaid|null} head  of an open head @returns {Words}
 */
export function sentenceOf(facts, predicts, head) {
  if (facts.fall) return knockoutWords(facts, predicts);
  if (head) return headSentence(facts, head);
  if (facts.isEnd) return [t("generation.end_of_text"), isTranslation(facts) ? t("river.pick") : ""];
  return [...saysWords(facts, predicts), h("span", { class: "tells" }, decidingWords(facts))];
}

/** What the chosen token of an open head attends to, and what hiding that in this layer does. @param {Facts} facts @param {HeadSaid} said @returns {Words} */
function headSentence(facts, { layer, head, edge, weight }) {
  const words = { layer, head, query: query(queryName(facts, edge)), key: key(keyName(facts, edge)) };
  const first = phrase(weight === null ? "say.head" : "say.head_weight", { ...words, p: briefPercent(weight ?? 0) });
  const effect = effectOf(facts, edge);
  if (!facts.canKnockOut || !effect || !facts.answers.length) return first;
  const hide = phrase("say.hide_in_layer", { key: key(keyName(facts, edge)), query: query(queryName(facts, edge)) });
  const attrs = { class: "link", type: "button", dataset: { testid: "hide-in-layer", hides: "layer" } };
  const cut = h("button", attrs, hide);
  const before = facts.measured?.start?.p ?? facts.answers[0].p;
  const verb =
    briefPercent(effect.p) === briefPercent(before) ? "without_stays" : effect.p < before ? "without" : "without_rises";
  const change = phrase(`river.${verb}`, { cut, answer: answerMark(facts.answers[0]), p: briefPercent(effect.p) });
  return [...first, h("span", { class: "tells" }, change)];
}

/** Where the first answer is less likely than this, many others are about as likely. */
const FLAT = 0.2;

/** @type {Record<string, string>} */
const SAYS = { classes: "river.says_class", same: "river.says_gap" };

/** @param {Facts} facts @param {string} predicts @returns {Words} */
export function saysWords({ names, row, answers: [answer] }, predicts) {
  const token = query(names[0][row]);
  if (!answer) return gathersWords({ names, row });
  const usual = predicts === "next" && answer.p < FLAT ? "river.says_flat" : "river.says";
  return phrase(SAYS[predicts] ?? usual, { token, answer: answerMark(answer), p: briefPercent(answer.p) });
}

/** @param {Pick<Facts, "names"|"row">} facts @returns {Words} */
export const gathersWords = ({ names, row }) => phrase("river.gathers", { token: query(names[0][row]) });

/** The answer without the edges that matter most, or that none matters. @param {Facts} facts @returns {Words} */
function decidingWords(facts) {
  const { deciding, start } = facts.measured ?? {};
  if (!deciding || !start || !facts.answers.length) return [];
  const picture = facts.names[0].some(({ patch }) => patch);
  if (briefPercent(deciding.p) === briefPercent(start.p))
    return [t(isEnded(facts) ? "river.pick" : keyFor({ picture }, "river.without_none"))];
  const [edge] = deciding.edges;
  const words = phrase("river.without_cut", {
    query: query(queryName(facts, edge)),
    key: key(keyName(facts, edge)),
  });
  const attrs = { class: "link", type: "button", tabindex: -1 }; // for the pointer: in the picture, Delete does the same
  const cut = h("button", { ...attrs, dataset: { testid: "cut-looks" } }, words);
  const verb = deciding.p < start.p ? "without" : "without_rises"; // each edge lowers it; together they may not
  return phrase(`river.${verb}`, { cut, answer: answerMark(facts.answers[0]), p: briefPercent(deciding.p) });
}

/** A finished translation shows END, for which no edge matters; where its words come from is shown at one of them. @param {Facts} facts */
const isEnded = (facts) =>
  isTranslation(facts) && facts.names[0].length > 1 && Boolean(facts.answers[0].token?.special);

/** @param {Facts} facts */
const isTranslation = ({ rolled }) => rolled[0].river.side === "target";

/** If the chosen token is not the one with knockouts, the sentence names it. @param {Facts} facts @param {string} predicts @returns {Words} */
function knockoutWords(facts, predicts) {
  const { fall, answers, names, row } = facts;
  if (!fall) return [];
  const { answer, before, after } = fall;
  const at = predicts === "next" && facts.knockouts.some((cut) => queryName(facts, cut) !== names[0][row]) ? "_at" : "";
  const token = query(names[0][row]);
  const other = answers[0] && answers[0].id !== answer.id;
  const now = other ? phrase("river.now", { answer: answerMark(answers[0]), p: briefPercent(answers[0].p) }) : [];
  if (after === null) return [...whichWords(facts), ...now]; // its new number is not here yet
  const words = { token, answer: answerMark(answer), before: briefPercent(before), after: briefPercent(after) };
  const change = briefPercent(after) === briefPercent(before) ? "stays" : after < before ? "falls" : "rises";
  return [...whichWords(facts), ...phrase(`river.${change}${at}`, words), ...now];
}

/** What is knocked out: one edge, the edges from a token to another in several layers, or several. @param {Facts} facts @returns {Words} */
function whichWords(facts) {
  const [first, ...others] = facts.knockouts;
  const words = { layer: first.layer, query: query(queryName(facts, first)), key: key(keyName(facts, first)) };
  if (!others.length) return phrase("river.cut", words);
  const same = others.every(
    (one) => one.attention === first.attention && one.query === first.query && one.key === first.key,
  );
  const n = facts.knockouts.length;
  if (!same) return phrase("river.cut_many", { n });
  const rest = layersWithout(facts);
  if (!rest.length) return phrase("river.cut_all", { ...words, n });
  if (rest.length > 2) return phrase("river.cut_some", { ...words, n });
  return phrase(rest.length > 1 ? "river.cut_except_two" : "river.cut_except", {
    ...words,
    n,
    rest: rest.join(t("compare.comma")),
  });
}

/** The layers that lack a knockout which the other layers have. @param {Facts} facts */
function layersWithout({ rolled, knockouts }) {
  const found = rolled.find(({ flows }) => flows.some(({ flow }) => flow.attention === knockouts[0].attention));
  return Array.from({ length: found?.river.layers ?? 0 }, (_, layer) => layer).filter((layer) =>
    knockouts.every((cut) => cut.layer !== layer),
  );
}

/** The stack with tokens of this side, and one's name. @param {Facts} facts @param {Edge} edge @param {"queries"|"keys"} end @param {number} at @returns {Name} */
function nameAt({ rolled, names }, { attention }, end, at) {
  const flow = rolled.flatMap(({ flows }) => flows).find(({ flow }) => flow.attention === attention)?.flow;
  const stack = rolled.findIndex(({ river }) => river.side === flow?.[end]);
  return names[Math.max(0, stack)][at] ?? { word: String(at), nth: null };
}

/** @param {Facts} facts @param {Edge} edge */
const keyName = (facts, edge) => nameAt(facts, edge, "keys", edge.key);
/** @param {Facts} facts @param {Edge} edge */
const queryName = (facts, edge) => nameAt(facts, edge, "queries", edge.query);

/** One head, in a sentence. @param {NonNullable<ReturnType<typeof import("../layout/heads.js").previewOf>>} shown @returns {Words} */
export const previewWords = ({ head: { layer, head }, writes, query: name, key: looked, weight }) =>
  phrase(writes ? "river.head_writes" : "river.head", {
    layer,
    head,
    query: query(name),
    key: key(looked),
    p: shareBetween(weight),
  });
