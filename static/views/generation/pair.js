/**
 * Two nodes of the tree of texts side by side: their texts, what could come next, how far the two distributions are apart, and what
 * the last token of each attends to: in the open head, or as the mean of all.
 */

import { klBits, logSoftmax } from "../../model/compare/measure.js";
import { attentionOf, attentionsOf, overviewOf, tapOf } from "../../model/description.js";
import { namesIn, offeredAfter, textOf, tokenName } from "../../model/labels.js";
import { sharedLength } from "../../model/selection.js";
import { comparedNodes, nodeShown } from "../../model/written.js";
import { patchBetween, runOf } from "../../state/run.js";
import { nodeAt, partedAt, textAt, wayTo } from "../../state/text_tree.js";
import { h, perRoot, replace, setText, update } from "../../ui/dom.js";
import { briefPercent, integer, number, significant } from "../../ui/format.js";
import { headWords } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken, nameNodes } from "../../ui/token_text.js";
import { placeOf } from "../places.js";
import { writerOf } from "./player.js";
import { editWords } from "./tree_picture.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Decoded } from "../../data/wire.js"
 * @import { Attention } from "../../model/description.js"
 * @import { Token } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions, Draw } from "../view.js"
 * @import { Session } from "./session.js"
 */

/** How many tokens of what both begin with are written out, the room is for what differs; how many tokens and keys are listed, and from which share on. */
const [COMMON, LISTED, LEAST] = [1, 4, 0.0005];
/** From how many bits two distributions are called similar, different, very different. */
const APART = [0.05, 0.5, 2];

/** @typedef {{tokens: Token[], likely: any[], logP: Float64Array|null, row: Float32Array|null}} Node  `row`: of the last token, in the open head or as the mean of all */

const elementsOf = perRoot((root) => {
  const texts = h("div", { class: "pair-texts" });
  const next = h("div", { class: "pair-rows", dataset: { testid: "pair-next" } });
  const apart = h("span", { class: "apart", dataset: { testid: "pair-kl" } });
  const where = h("h3");
  const level = h("button", { class: "link", type: "button", dataset: { testid: "pair-level" } });
  const looks = h("div", { class: "pair-rows", dataset: { testid: "pair-looks" } });
  const tools = h("div", { class: "tree-tools" });
  const attention = h("section", null, where, looks);
  const head = h("div", { class: "pair-head" }, h("h3", null, t("pair.next")), apart);
  const both = h("section", null, head, next);
  const columns = h("div", { class: "pair-columns" }, both, attention);
  replace(root, h("div", { class: "bar" }, h("h2", null, t("pair.title")), tools), texts, columns);
  return { texts, next, apart, head, level, where, looks, attention, tools };
});

/** @type {Draw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const two = /** @type {number[]} */ (comparedNodes(state));
  const open = openIn(trace, state);
  const [a, b] = /** @type {Decoded[]} */ (trace.comparedNodes).map((answer) => nodeOf(answer, trace, open));
  const common = sharedLength(...ids(a, b));
  const runs = two.map((at) => state.tree.runs[nodeAt(state.tree, at).run]);
  const edits =
    JSON.stringify(runs[0]) === JSON.stringify(runs[1]) ? ["", ""] : runs.map((run) => editWords(run, trace));
  const { session } = writerOf(actions);
  replace(
    parts.texts,
    [a, b].map((one, i) => {
      const rest = restOf(state, two, i).map(session.word);
      return textLine(i, one, common, { edit: edits[i], rest, back: takenBack(state, session, i) });
    }),
    partedLine(state, two, session),
  );
  sayLength(parts, state, two, actions);
  replace(parts.next, nextRows(a, b));
  sayApart(parts.apart, a, b);
  parts.attention.hidden = !open || !a.row || !b.row;
  if (open && !parts.attention.hidden) {
    const of = open.at ? headWords(trace.model, { attention: open.attention, ...open.at }) : t("pair.mean");
    replace(parts.where, t("pair.looks"), " ", h("span", { class: "dim" }, of));
    replace(parts.looks, lookRows(a, b, common));
  }
  replace(parts.tools, toolsOf(trace, state, actions, two));
}

/** @param {...Node} nodes @returns {[number[], number[]]} */
const ids = (...nodes) => /** @type {any} */ (nodes.map(({ tokens }) => tokens.map(({ id }) => id)));

/**
 * Texts of different lengths are compared where the longer one is as long as the other: what writes that one on.
 * @param {ReturnType<typeof elementsOf>} parts @param {State} state @param {number[]} two @param {Actions} actions
 */
function sayLength({ head, level }, state, two, actions) {
  const short = two.findIndex((at, i) => at !== state.tree.pair[i]) === 0 ? 1 : 0; // the one that is not cut
  if (two.every((at, i) => at === state.tree.pair[i])) return level.remove();
  const { session, player } = writerOf(actions);
  if (!level.isConnected) head.append(level);
  const name = "AB"[short];
  setText(level, t("pair.level", { name }));
  update(level, { title: t("pair.level_about", { name }) });
  level.onclick = () => {
    player.pause();
    session.goTo(two[short]);
    player.play(textAt(state.tree, state.tree.pair[1 - short]).ids.length);
  };
}

/** What a text has beyond the place where it is compared. @param {State} state @param {number[]} two @param {number} i */
function restOf({ tree }, two, i) {
  const [ids, all] = [two[i], tree.pair[i]].map((at) => textAt(tree, at).ids);
  return all.slice(ids.length);
}

/** How many tokens at the end of a text Back has taken back: the page stands before them. @param {State} state @param {Session} session @param {number} i */
function takenBack({ tree }, session, i) {
  const [here, path] = [session.here(), session.path()];
  const [own, other] = [tree.pair[i], tree.pair[1 - i]].map((at) => wayTo(tree, at).includes(here));
  if (!own || other || !path) return 0;
  const shown = textAt(tree, here).ids.length - (path.ids.length - 1 - session.chosen(path));
  return Math.max(0, textAt(tree, tree.pair[i]).ids.length - shown);
}

/**
 * The open head, if its queries are what is written; otherwise the same head of the last attention that has them. `at` null: the mean of
 * all of its heads, where none is open.
 * @param {ModelTrace} trace @param {State} state
 * @returns {{attention: string, at: {layer: number, head: number}|null}|null}
 */
function openIn({ model, attention }, state) {
  const { writes } = model.description;
  const writing = attentionsOf(model).filter((one) => one.queries === writes && overviewOf(one));
  const one = writing.includes(attention) ? attention : writing.at(-1);
  if (!one) return null;
  if (placeOf(state).name !== "head") return { attention: one.id, at: null };
  const at = { layer: Math.min(state.layer, one.n_layer - 1), head: Math.min(state.head, one.n_head - 1) };
  return { attention: one.id, at };
}

/** @param {Decoded} answer @param {ModelTrace} trace @param {ReturnType<typeof openIn>} open @returns {Node} */
function nodeOf({ meta, tensors }, { model }, open) {
  const { logits, writes } = model.description;
  const all = tensors[logits.tap];
  const last = all && /** @type {Float32Array} */ (all.data).subarray(-model.vocab_size);
  return {
    tokens: writes === "target" ? meta.target_tokens : meta.tokens,
    likely: meta.predictions[0].candidates,
    logP: last ? logSoftmax(last, model.never_sampled) : null,
    row: open && lastRow(tensors, attentionOf(model, open.attention), open.at),
  };
}

/**
 * What the last token attends to in a head, or on average over all heads of all layers; null: it is not among the tensors.
 * @param {Decoded["tensors"]} tensors  of each layer [head 1 key] @param {Attention} attention @param {{layer: number, head: number}|null} at
 */
export function lastRow(tensors, attention, at) {
  const { n_layer: layers, n_head: heads } = attention;
  const each = at
    ? [at]
    : Array.from({ length: layers * heads }, (_, i) => ({ layer: Math.floor(i / heads), head: i % heads }));
  const rows = each.map(({ layer, head }) => {
    const found = tensors[tapOf(attention, layer, overviewOf(attention) ?? "")];
    const size = found?.shape.at(-1) ?? 0;
    return /** @type {Float32Array|undefined} */ (found?.data)?.subarray(head * size, (head + 1) * size);
  });
  if (rows.some((row) => row === undefined)) return null;
  const mean = new Float32Array(/** @type {Float32Array} */ (rows[0]).length);
  for (const row of rows) row?.forEach((weight, key) => (mean[key] += weight / rows.length));
  return mean;
}

/** "Split: A him 23 % | B it 70 %; over 10 tokens: B 150 times likelier", by the model's own probabilities. @param {State} state @param {number[]} two @param {Session} session */
function partedLine({ tree }, [a, b], session) {
  const parted = partedAt(tree, a, b);
  if (!parted) return null;
  const badge = (/** @type {number} */ i) => h("b", { class: `pair-badge ${"ab"[i]}` }, "AB"[i]);
  const [first, second] = parted.map(({ id, p }, i) =>
    h("span", null, badge(i), " ", h("b", null, namedToken(session.word(id))), ` ${briefPercent(p)}`),
  );
  const [whole, other] = parted.map(({ all }) => all);
  const ratio = Math.max(whole, other) / Math.min(whole, other);
  const { ids, nPrompt } = textAt(tree, a); // the other one is as long
  const n = ids.length - nPrompt;
  const vars = { n, name: badge(whole > other ? 0 : 1), times: timesText(ratio) };
  const split = phrase("pair.parted", { first, second });
  const all =
    Number.isFinite(ratio) && timesText(ratio) !== timesText(1) && h("span", null, phrase("pair.parted_all", vars)); // never over two lines
  const title = t("pair.parted_about", { n, whole: smallPercent(whole), other: smallPercent(other) });
  return h("p", { class: "parted", title, dataset: { testid: "pair-parted" } }, h("span", null, split), " ", all);
}

/** A product of many probabilities has its size in its first digits. @param {number} p */
const smallPercent = (p) => (p < 0.001 ? `${significant(100 * p, 1)}\u202f%` : briefPercent(p));

/** Two digits: "2.8", "150". @param {number} ratio */
const timesText = (ratio) => (ratio < 9.95 ? number(ratio, 1) : integer(Number(ratio.toPrecision(2))));

/** "A … gave him some": what only this text has is bold, what is not compared pale. @param {number} i @param {Node} node @param {number} common @param {{edit: string, rest: Token[], back: number}} more */
function textLine(i, { tokens }, common, { edit, rest, back }) {
  const before = textOf(tokens.slice(Math.max(0, common - COMMON), common));
  const own = h("b", null, textOf(tokens.slice(common)));
  const words = h(
    "span",
    { translate: "no" },
    common > COMMON ? "… " : "",
    before.replace(/^\s/, ""),
    own,
    rest.length > 0 && h("span", { class: "dim" }, textOf(rest)),
  );
  const badge = h("b", { class: `pair-badge ${"ab"[i]}` }, "AB"[i]);
  const run = edit && h("small", { class: "edit" }, ` ${edit}`);
  const taken = back > 0 && h("small", { class: "dim" }, `${t("pair.taken_back", { n: back })} `);
  return h("p", { title: words.textContent, dataset: { testid: `pair-${"ab"[i]}` } }, badge, " ", taken, words, run);
}

/** @typedef {{name: string, a: number|null, b: number|null, id?: number}} Row  null: this text does not have it */

/** The strongest in both, the strongest first; not those that are hardly in either. @param {Row[]} rows */
const strongest = (rows) =>
  rows
    .filter(({ a, b }) => Math.max(a ?? 0, b ?? 0) >= LEAST)
    .sort((x, y) => (y.a ?? 0) + (y.b ?? 0) - (x.a ?? 0) - (x.b ?? 0))
    .slice(0, LISTED);

/** The most likely next tokens of both, with the model's own probabilities. @param {Node} a @param {Node} b */
function nextRows(a, b) {
  const known = new Map([...a.likely, ...b.likely].map((one) => [one.id, one]));
  const share = (/** @type {Node} */ { logP, likely }, /** @type {number} */ id) =>
    logP ? Math.exp(logP[id]) : (likely.find((one) => one.id === id)?.before ?? null);
  const rows = [...new Set([...a.likely.slice(0, LISTED), ...b.likely.slice(0, LISTED)].map(({ id }) => id))];
  const nameOf = (/** @type {number} */ id) => tokenName(offeredAfter(known.get(id), a.tokens.at(-1)));
  return strongest(rows.map((id) => ({ name: nameOf(id), a: share(a, id), b: share(b, id), id }))).map(rowOf);
}

/** How far the two distributions are apart, over the whole vocabulary: in words, and the larger divergence in bits. @param {HTMLElement} root @param {Node} a @param {Node} b */
function sayApart(root, { logP: p }, { logP: q }) {
  if (!p || !q) {
    setText(root, t("pair.many"));
    return update(root, { title: null, dataset: { ab: null, ba: null } });
  }
  const [ab, ba] = [klBits(p, q), klBits(q, p)];
  const most = Math.max(ab, ba);
  const words = t(`pair.apart.${APART.filter((least) => most >= least).length}`);
  replace(root, words, h("span", { class: "dim" }, ` KL\u00a0${number(most, 1)}`));
  const vars = { ab: number(ab, 3), ba: number(ba, 3), nearly: number(APART[0], 2), very: number(APART[2], 0) };
  return update(root, { title: t("pair.kl_about", vars), dataset: { ab, ba } });
}

/** @param {ArrayLike<number>} row @returns {number[]} the keys with the largest weights */
const mostIn = (row) =>
  Array.from(row, (_, key) => key)
    .sort((x, y) => row[y] - row[x])
    .slice(0, LISTED);

/** The keys that the last tokens attend to most; what both texts begin with is one row. @param {Node} a @param {Node} b @param {number} common */
function lookRows(a, b, common) {
  const [p, q] = [/** @type {Float32Array} */ (a.row), /** @type {Float32Array} */ (b.row)];
  const [first, second] = [a, b].map(({ tokens }) => namesIn(tokens));
  const [ofA, ofB] = [mostIn(p), mostIn(q)];
  const both = [...new Set([...ofA, ...ofB])].filter((key) => key < common);
  const own = (/** @type {number} */ key) => key >= common;
  return strongest([
    ...both.map((key) => ({ name: first[key], a: p[key], b: q[key] })),
    ...ofA.filter(own).map((key) => ({ name: first[key], a: p[key], b: null })),
    ...ofB.filter(own).map((key) => ({ name: second[key], a: null, b: q[key] })),
  ]).map(rowOf);
}

/** A name, and a bar and a number for each text. @param {Row} row */
function rowOf({ name, a, b, id }) {
  const of = (/** @type {number|null} */ share, /** @type {"a"|"b"} */ which) => [
    h("b", { class: `pair-badge ${which}` }, which.toUpperCase()),
    h("u", { class: which, "aria-hidden": true }, h("s", { style: { width: `${100 * (share ?? 0)}%` } })),
    h(
      "span",
      share === null ? { class: "figure", title: t("pair.none") } : { class: "figure" },
      share === null ? "–" : briefPercent(share),
    ),
  ];
  const data = { a: a ?? "", b: b ?? "", ...(id !== undefined && { id }) };
  return h(
    "div",
    { class: "pair-row", dataset: data },
    h("span", { class: "name", translate: "no", title: name }, nameNodes(name)),
    of(a, "a"),
    of(b, "b"),
  );
}

/** @param {ModelTrace} trace @param {State} state @param {Actions} actions @param {number[]} two */
function toolsOf({ model }, state, actions, two) {
  const { session } = writerOf(actions);
  const [a, b] = two.map((at) => nodeShown(state, model, at));
  const compare = () => {
    const against = patchBetween(runOf({ ...state, ...a }), runOf({ ...state, ...b }));
    actions.set({ ...a, against, compare: true, drawer: null });
  };
  const clear = () => state.tree.pair.forEach((at) => session.pick(at));
  /** @param {string} name @param {() => void} click */
  const button = (name, click) => {
    const attrs = { class: "btn", type: "button", title: t(`pair.${name}_about`), dataset: { testid: `pair-${name}` } };
    return h("button", { ...attrs, on: { click } }, t(`pair.${name}`));
  };
  return [button("runs", compare), button("clear", clear)];
}
