/** What is changed in the run, and what that did to the answer: one sentence, with the model's own numbers before and after. */

import { h } from "../../ui/dom.js";
import { briefPercent } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { effectOf } from "../facts.js";
import { edgesTo } from "../knockout_effects.js";
import { answerMark, hiddenWords, keyMark, keyNameOf, layersIn, queryMark, queryNameOf, rowName } from "./names.js";

/**
 * @import { MaskChanges } from "../../model/compare/runs.js"
 * @import { Edge } from "../../model/interventions.js"
 * @import { Answer, Facts } from "../facts.js"
 * @import { HeadSaid, Words } from "./sentence.js"
 */

/** More heads than this are said by their number. */
const MOST_NAMED = 3;

/** A smaller difference is rounding. */
const ROUNDING = 1e-5;

/** @param {Facts} facts @param {string} predicts  what a row is about @param {HeadSaid|null} [head]  of an open head @returns {Words} */
export function changeWords(facts, predicts, head = null) {
  const { masks, knockouts, fall, isEnd } = facts;
  const cut = knockouts.length ? whichWords(facts) : [];
  if (!masks) return [...cut, ...fallWords(facts, predicts), ...nextWords(facts)];
  const untrained = untrainedWords(masks);
  const several = severalWords(facts, masks);
  if (several && !isEnd)
    return [several, ...answerWords(facts), ...backWords({ ...facts, needed: null }, masks, "_of")];
  const end = [...untrained, ...backWords(facts, masks)];
  const inHead = head && isRead(masks) && hereWords(facts, masks, head);
  if (inHead && !isEnd) {
    const said = [...othersWords(facts, masks), ...cut, ...inHead];
    if (causeOf(masks, head)) return [...said, ...answerWords(facts, "_terse"), ...backWords(facts, masks)];
    return [...said, ...answerWords(facts, untrained.length ? "_to" : ""), ...end];
  }
  const words = [...maskWords(facts, masks), ...cut];
  if (isEnd) return [...words, t("generation.end_of_text")];
  return [...words, ...(fall ? stillWords(facts, predicts) : []), ...end];
}

/** No mask is changed. @type {MaskChanges} */
const NOTHING = {
  ...{ causal: null, layers: [], target: false, pads: null, hidden: 0, heads: [], parts: [], allowed: 0, others: 0 },
};

/**
 * Of an open head that no edit touches: its chosen weight, and what the edits elsewhere did to the answer; null: one is here or in all
 * heads, or the numbers are not here yet.
 * @param {Facts} facts @param {HeadSaid} head @returns {Words|null}
 */
export function elsewhereWords(facts, head) {
  const { knockouts, fall, isEnd } = facts;
  const masks = facts.masks ?? NOTHING;
  if (!fall || isEnd || isRead(masks)) return null;
  const isHere = (/** @type {{attention: string, layer: number, head?: number}} */ one) =>
    one.attention === head.edge.attention &&
    one.layer === head.layer &&
    (one.head === undefined || one.head === head.head);
  if ([...masks.heads, ...knockouts].some(isHere)) return null;
  const here = hereWords(facts, masks, head, true);
  const edits = here && severalWords(facts, masks, 1);
  const name = t("say.in_head", { layer: head.layer, head: head.head });
  return edits
    ? [name, ...here, edits, ...answerWords(facts), ...backWords({ ...facts, needed: null }, masks, "_of")]
    : null;
}

/** Changes of several kinds, in one breath; null: there are fewer. @param {Facts} facts @param {MaskChanges} masks @param {number} [least] */
function severalWords(facts, { causal, layers, pads, hidden, heads, parts, allowed, others }, least = 2) {
  const kinds = [
    causal !== null && t(causal ? "changed.brief_on" : "changed.brief_off"),
    layers.length > 0 && t("changed.off_layers", { n: layers.length, layers: layers.join(", ") }),
    heads.length > 0 &&
      (facts.only
        ? t("changed.brief_only", { head: facts.nameOf(facts.only) })
        : t("changed.brief_heads", { n: heads.length, head: facts.nameOf(heads[0]) })),
    parts.length > 0 && t("changed.brief_parts", { n: parts.length }),
    pads !== null && t("changed.brief_pads", { n: pads.n }),
    hidden > 0 && t("picture.run_hidden", { n: hidden }),
    facts.knockouts.length > 0 && hiddenWords(facts),
    allowed > 0 && t("changed.brief_allowed", { n: allowed }),
    others > 0 && t("changed.brief_others", { n: others }),
  ].filter((one) => one !== false);
  if (kinds.length < least) return null;
  const edits = kinds.join(t("compare.comma"));
  return t("changed.several", { edits: edits[0].toUpperCase() + edits.slice(1) });
}

/** What the model never met in training: its numbers are real, but say little of what it learned. @param {MaskChanges} masks @returns {Words} */
const untrainedWords = ({ causal, layers }) =>
  causal !== null || layers.length > 0 ? phrase("changed.untrained", {}) : [];

/** Whether the weights are others than in training, or may be: a head that is off has its weights, and writes nothing. @param {MaskChanges} masks */
const isRead = ({ causal, layers, pads, hidden, allowed, others, parts }) =>
  causal !== null || layers.length > 0 || pads !== null || hidden + allowed + others + parts.length > 0;

/** A button of the sentence. @param {string} testid @param {string|Words} text @param {Record<string, string>} does */
const edit = (testid, text, does) =>
  h("button", { class: "link", type: "button", title: does.title ?? null, dataset: { testid, ...does } }, text);

// What a mask did.

/** By what a model predicts other than the next token: how its answer is called. @type {Record<string, string>} */
const ANSWERS = { same: "gap", classes: "class" };

/** Whether the model still gives the answer, and its probability before and after. @param {Facts} facts @param {string} predicts @returns {Words} */
function stillWords(facts, predicts) {
  const {
    fall,
    masks,
    answers: [first],
  } = facts;
  if (!fall || !first || fall.after === null) return []; // its new number is not here yet
  if (predicts === "next") return answerWords(facts, masks && untrainedWords(masks).length ? "_to" : "");
  const [before, after] = [briefPercent(fall.before), briefPercent(fall.after)];
  const words = { token: queryMark(rowName(facts, facts.row)), answer: answerMark(fall.answer), before, after };
  const kind = ANSWERS[predicts];
  if (first.id !== fall.answer.id) {
    const way = fall.after < fall.before ? "falls" : "rises";
    const now = { token: words.token, now: answerMark(first), p: briefPercent(first.p) };
    return [...phrase(`changed.other_${kind}`, now), ...phrase(`river.${way}`, words)];
  }
  if (Math.abs(fall.after - fall.before) < ROUNDING) return phrase(`changed.nothing_${kind}`, words);
  return phrase(`changed.${before === after ? "hardly" : "still"}_${kind}`, words);
}

/** What is read in another way than in training. @param {Facts} facts @param {MaskChanges} masks @returns {Words} */
const maskWords = (facts, masks) => [...causalWords(facts, masks), ...othersWords(facts, masks)];

/** Apart from the causal mask. @param {Facts} facts @param {MaskChanges} masks @returns {Words} */
const othersWords = ({ only = null, nameOf }, { pads, hidden, heads, parts, allowed, others }) => [
  ...(only ? [t("changed.heads_only", { layer: only.layer, head: nameOf(only) })] : headsWords(heads, nameOf)),
  ...parts.map(({ part, layer }) => t(`changed.${part}_off`, { layer })),
  ...(pads ? [t(`changed.pads_${padsNow(pads)}`, { n: pads.n })] : []),
  ...(hidden ? [t("changed.hidden", { n: hidden })] : []),
  ...(allowed ? [t("changed.allowed", { n: allowed })] : []),
  ...(others ? [t("changed.others", { n: others })] : []),
];

/** The heads that are off. @param {MaskChanges["heads"]} heads @param {Facts["nameOf"]} nameOf @returns {Words} */
function headsWords(heads, nameOf) {
  if (!heads.length) return [];
  const names = heads.map(nameOf).join(t("compare.comma"));
  return [t(heads.length > MOST_NAMED ? "changed.heads_many" : "changed.heads_off", { n: heads.length, heads: names })];
}

/** @param {NonNullable<MaskChanges["pads"]>} pads */
function padsNow({ unseen, read, counted }) {
  if (unseen) return "unseen";
  if (read) return "read";
  return counted ? "counted" : "hidden";
}

/** What the causal mask does to the chosen token: whether it is the first or the last of its text decides that. @param {Facts} facts @param {Pick<MaskChanges, "causal"|"layers"|"target">} masks @returns {Words} */
function causalWords(facts, { causal, layers, target }) {
  const [{ row, names }, words] = [facts, { token: queryMark(rowName(facts, facts.row)) }];
  const [own] = names;
  if (causal) return phrase(row === 0 ? "changed.on_first" : "changed.on_other", words);
  if (causal === null && !layers.length) return [];
  const mask =
    causal === null
      ? t("changed.off_layers", { n: layers.length, layers: layers.join(", ") })
      : t(target ? "changed.off_target" : "changed.off");
  if (own.length === 1) return phrase("changed.off_alone", { mask });
  return phrase(row === own.length - 1 ? "changed.off_last" : "changed.off_other", { ...words, mask });
}

/** The button that takes the change back: as in training, or the other way of reading PADs; of heads, also what goes on with it. @param {Facts} facts @param {MaskChanges} masks @param {string} [of]  "_of": one of several changes @returns {Words} */
function backWords(facts, { causal, layers, heads, pads }, of = "") {
  const { only, needed, nameOf } = facts;
  const n = heads.length;
  if (causal !== null || layers.length)
    return [" ", edit("causal-back", t(`say.causal_back_${causal ? "off" : "on"}${of}`), { puts: "causal" })];
  if (n) {
    const text = only ? t("say.heads_on_only") : t("say.heads_on", { n, heads: nameOf(heads[0]) });
    const back = edit("heads-on", text, { puts: "heads", title: t("say.heads_on_why", { n }) });
    return [" ", back, ...(needed && !only ? neededWords(facts, needed) : [])];
  }
  if (!pads || pads.unseen) return [];
  return [" ", edit("padding-other", t(pads.read ? "say.padding_on" : "say.padding_off"), { puts: "padding" })];
}

/** @param {Facts} facts @param {NonNullable<Facts["needed"]>} head @returns {Words} */
function neededWords(facts, { name, p }) {
  const cut = edit("head-off-too", t("say.head_off_too", { head: name }), { turns: "needed" });
  return [h("span", { class: "tells" }, ...furtherWords(facts, cut, p))];
}

// What it did in the open head.

/** Whether the chosen row attends to a later token, which without a causal mask it can. @param {MaskChanges} masks @param {HeadSaid} head */
const attendsLater = ({ causal, layers }, { later, layer }) =>
  later !== null && (causal === false || layers.includes(layer));

/**
 * Why a weight changes without the causal mask though its row sees no other token: q and k are made of tokens that do; or why it does
 * not change. A key of the catalogue; null: the row sees later tokens, or q and k are not here.
 * @param {MaskChanges} masks @param {HeadSaid} head
 */
function causeOf(masks, head) {
  const { vectors, layer } = head;
  if (!vectors || attendsLater(masks, head) || !(masks.causal === false || masks.layers.length)) return null;
  if (vectors.q || vectors.k) return `say.cause_${vectors.q ? "q" : ""}${vectors.k ? "k" : ""}`;
  return layer === 0 ? "say.cause_first" : "say.cause_none";
}

/** The chosen weight before and now, and where most of its row goes; null: it is not here yet. @param {Facts} facts @param {MaskChanges} masks @param {HeadSaid} head @param {boolean} [briefly]  more follows @returns {Words|null} */
function hereWords(facts, masks, head, briefly = false) {
  const { causal, layers, pads } = masks;
  const { edge, weight, masked, was, most, later } = head;
  if (weight === null || masked) return null;
  const some = layers.length ? t("say.causal_now_off_layers", { n: layers.length, layers: layers.join(", ") }) : "";
  const mask = causal === null ? some : t(causal ? "say.causal_now_on" : "say.causal_now_off");
  if (attendsLater(masks, head)) {
    const words = { query: queryMark(queryNameOf(facts, edge)), p: briefPercent(later ?? 0) };
    return [mask, ...phrase("say.weight_later", words)];
  }
  const cause = briefly ? null : causeOf(masks, head);
  const words = { query: queryMark(queryNameOf(facts, edge)), key: keyMark(keyNameOf(facts, edge)) };
  const [before, after] = [was && briefPercent(was.weight), briefPercent(weight)];
  const change = was?.masked
    ? "new"
    : before === null || before === after
      ? "is"
      : was && was.weight > weight
        ? "falls"
        : "rises";
  const brief = briefly || causal !== null || layers.length > 0 || pads !== null; // a button follows
  const other = !brief && most && most.key !== edge.key && most.weight > weight;
  return [
    mask,
    ...(cause ? phrase(cause, {}) : []),
    ...phrase(`say.weight_${change}`, { ...words, before: before ?? "", after }),
    ...(other
      ? phrase("say.weight_most", {
          key: keyMark(keyNameOf(facts, { ...edge, key: most.key })),
          p: briefPercent(most.weight),
        })
      : [t("say.weight_end")]),
  ];
}

/** What it did to the answer, in few words. @param {Facts} facts @param {""|"_to"|"_terse"} [brief]  only what it is now @returns {Words} */
function answerWords({ fall, answers: [first] }, brief = "") {
  if (!fall || !first || fall.after === null) return []; // its new number is not here yet
  const [before, after] = [briefPercent(fall.before), briefPercent(fall.after)];
  const change = before === after ? "stays" : fall.after < fall.before ? "falls" : "rises";
  const other = first.id !== fall.answer.id && first;
  const now = other && { now: answerMark(other), p: briefPercent(other.p) };
  if (brief && now) return phrase("say.answer_now", { answer: answerMark(fall.answer), before, ...now });
  const form = change === "stays" ? brief.replace("_to", "") : brief;
  return changedAnswer(`${change}${form}`, { answer: answerMark(fall.answer), before, after }, other);
}

/** What became of the answer, and behind which one it is now. @param {string} change @param {{answer: Node, before: string, after: string}} words @param {Answer|false} first @returns {Words} */
function changedAnswer(change, words, first) {
  if (!first) return phrase(`say.answer_${change}`, words);
  return phrase(`say.answer_${change}_now`, { ...words, now: answerMark(first), p: briefPercent(first.p) });
}

// What knockouts did.

/** A button that hides in more of the model what is hidden in one head or in one layer; where nothing is wider, one that shows it again. @param {Facts} facts @returns {Words} */
function nextWords(facts) {
  const [first] = facts.knockouts;
  if (!first) return [];
  const { layer, head } = first;
  const text = head === undefined ? t("say.hide_in_all_layers") : phrase("say.hide_in_layer", { layer });
  const places = new Set(facts.knockouts.map(({ attention, query, key }) => `${attention} ${query} ${key}`));
  const again = t(places.size > 1 ? "say.show_all_again" : "say.show_again");
  const edges = wider(facts);
  if (!edges.length) return [" ", edit("show-again", again, { puts: "edges" })];
  const cut = edit("hide-wider", text, { hides: "wider" });
  const effect = edges.length === 1 ? effectOf(facts, edges[0]) : undefined; // of several together it is not measured
  return effect ? furtherWords(facts, cut, effect.p) : [" ", cut];
}

/** A button and what it does, where the sentence has just named the answer. @param {Element} cut @param {number} p @returns {Words} */
export const briefEffect = (cut, p) => [
  h("span", { class: "unbroken" }, phrase("say.layer_too", { cut, p: briefPercent(p) })),
];

/** What goes on from an edit, with the answer's probability then; the answer has its name where the sentence has just named another one. @param {Facts} facts @param {Element} cut @param {number} p @returns {Words} */
function furtherWords({ fall, answers: [first] }, cut, p) {
  if (!fall || first?.id === fall.answer.id) return briefEffect(cut, p);
  if (fall.after === null) return [" ", cut]; // less likely than what is listed: up or down is not known
  const verb = p < fall.after ? "without" : "without_rises";
  return cutWords(`river.${verb}`, cut, { answer: answerMark(fall.answer), p: briefPercent(p) });
}

/** A button and, in words that a phone keeps together (css/layout.css), its effect. @param {string} key @param {Element} cut @param {{answer: Node, p: string}} effect @returns {Words} */
export function cutWords(key, cut, effect) {
  const words = phrase(key, { cut, ...effect });
  const at = words.indexOf(effect.answer);
  return [...words.slice(0, at), h("span", { class: "unbroken" }, words.slice(at))];
}

/** The edges that hide it there instead; [] if nothing is wider. @param {Facts} facts @returns {Edge[]} */
export function wider({ knockouts: [first, ...others], canKnockOut, before, rolled, row }) {
  if (!first || others.length || !canKnockOut) return [];
  const { head, ...edge } = first;
  if (head !== undefined) return [edge];
  const [whole] = before ?? rolled;
  const flow = whole.flows.find(({ flow }) => flow.attention === edge.attention)?.flow;
  if (!flow || edge.query !== row) return [];
  const all = edgesTo(whole, row, flow.keys, edge.key);
  return all.length > 1 ? all : [];
}

/** If the chosen token is not the one with knockouts, the sentence names it. @param {Facts} facts @param {string} predicts @returns {Words} */
function fallWords(facts, predicts) {
  const { fall, answers } = facts;
  if (!fall) return [];
  const { answer, before, after } = fall;
  const name = rowName(facts, facts.row);
  const elsewhere = facts.knockouts.some((cut) => queryNameOf(facts, cut) !== name);
  const at = predicts === "next" && !facts.written && elsewhere ? "_at" : "";
  const token = queryMark(name);
  const other = answers[0] && answers[0].id !== answer.id && answers[0];
  const now = other ? phrase("river.now", { answer: answerMark(answers[0]), p: briefPercent(answers[0].p) }) : [];
  if (after === null) return now; // its new number is not here yet
  const words = { token, answer: answerMark(answer), before: briefPercent(before), after: briefPercent(after) };
  const change = briefPercent(after) === briefPercent(before) ? "stays" : after < before ? "falls" : "rises";
  return at ? [...phrase(`river.${change}${at}`, words), ...now] : changedAnswer(change, words, other || false);
}

/** So many heads are named in which a connection is hidden. */
const MOST_HEADS = 4;

/** What is knocked out: one edge, the edges from a token to another in several layers, or several. @param {Facts} facts @returns {Words} */
function whichWords(facts) {
  const [first, ...others] = facts.knockouts;
  const words = {
    layer: first.layer,
    query: queryMark(queryNameOf(facts, first)),
    key: keyMark(keyNameOf(facts, first)),
  };
  if (!others.length && first.head === undefined) return phrase("river.cut", words);
  const same = others.every(
    ({ attention, query, key }) => attention === first.attention && query === first.query && key === first.key,
  );
  const heads = facts.knockouts.flatMap(({ layer, head }) => (head === undefined ? [] : `${layer}·${head}`));
  if (same && heads.length === facts.knockouts.length && heads.length <= MOST_HEADS)
    return phrase("river.cut_heads", { ...words, n: heads.length, heads: heads.join(t("compare.comma")) });
  if (!same || heads.length) return [t("changed.several", { edits: hiddenWords(facts) })];
  const n = facts.knockouts.length;
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
function layersWithout(facts) {
  return Array.from({ length: layersIn(facts) }, (_, layer) => layer).filter((layer) =>
    facts.knockouts.every((cut) => cut.layer !== layer),
  );
}
