/** Patching by hand: a token of the second sentence is dragged onto one of this sentence, whose row gets its numbers. */

import { RANK_HAND, rankState } from "../../data/explain.js";
import {
  canPut,
  changesNothing,
  correspond,
  isOfHead,
  pairsPut,
  putByHand,
  putOrTaken,
  sideOfRows,
} from "../../model/by_hand.js";
import { editing } from "../../model/compare/runs.js";
import { attentionOf, stackOf, trainedCausal } from "../../model/description.js";
import { namesIn } from "../../model/labels.js";
import { buildFold, segment } from "../../ui/controls.js";
import { h, keepingFocus, replace, setText, svg, update } from "../../ui/dom.js";
import { phrase, t } from "../../ui/i18n.js";
import { nameNodes } from "../../ui/token_text.js";
import { headName } from "./effects.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Token } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 */

/** How far a pointer moves before it drags, in pixels. */
const SLOP = 6;

export function buildByHand() {
  const what = segment(t("hand.what"), RANK_HAND, "hand", (name) => t(`hand.what_${name}`));
  const all = h("button", { class: "btn", type: "button", dataset: { testid: "hand-all" } }, t("hand.all"));
  const [where, said] = [
    h("span", { class: "dim" }),
    h("p", { class: "dim", role: "status", dataset: { testid: "hand-said" } }),
  ];
  const [theirs, ours] = ["theirs", "ours"].map((of) =>
    h("ol", { class: "hand-row", "aria-label": t(`hand.${of}`), dataset: { testid: `hand-${of}` } }),
  );
  const lines = svg("svg", { class: "hand-lines", "aria-hidden": "true" });
  const board = h("div", { class: "hand-board" }, theirs, lines, ours);
  const tools = h("p", { class: "rank-do" }, what.box, where, all);
  const element = buildFold("by-hand", t("hand.title"), tools, said, board);
  const now = { armed: /** @type {number|null} */ (null), to: /** @type {number|null} */ (null), about: "" };
  const parts = {
    element,
    what,
    all,
    where,
    said,
    theirs,
    ours,
    lines,
    board,
    now,
    drop: (/** @type {number} */ _) => {},
    trail: () => {},
    again: () => {},
  };
  listen(parts);
  return parts;
}

/** @typedef {ReturnType<typeof buildByHand>} Parts */

/** Drags with any pointer: the token under it is what it is dropped on. A press without a way arms the token: the next press drops it. @param {Parts} parts */
function listen(parts) {
  const { board, theirs, now } = parts;
  const tokenAt = (/** @type {PointerEvent} */ { clientX, clientY }) => {
    const at = document.elementFromPoint(clientX, clientY)?.closest("[data-ours]");
    return at && board.contains(at) ? Number(/** @type {HTMLElement} */ (at).dataset.ours) : null;
  };
  theirs.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    const token = /** @type {HTMLElement} */ (event.target).closest("[data-theirs]");
    if (!token || event.button !== 0) return;
    const [x, y, control] = [event.clientX, event.clientY, new AbortController()];
    const { signal } = control;
    let moves = false;
    const move = (/** @type {PointerEvent} */ one) => {
      moves ||= Math.hypot(one.clientX - x, one.clientY - y) > SLOP;
      if (!moves) return;
      now.armed = Number(/** @type {HTMLElement} */ (token).dataset.theirs);
      now.to = tokenAt(one);
      parts.trail(); // the token itself stays: a finger would lose it
    };
    const end = (/** @type {PointerEvent} */ one) => {
      control.abort();
      now.to = null;
      const at = moves && one.type === "pointerup" ? tokenAt(one) : null;
      if (at !== null) parts.drop(at);
      if (!moves) return;
      now.armed = null;
      parts.again();
    };
    document.addEventListener("pointermove", move, { signal });
    for (const name of /** @type {const} */ (["pointerup", "pointercancel"]))
      document.addEventListener(name, end, { signal });
  });
}

/** @param {Parts} parts @param {ModelTrace} trace @param {State} state @param {Actions} actions */
export function drawByHand(parts, trace, state, actions) {
  const { element, what: choice, now } = parts;
  const { source, hand } = rankState.of(state);
  const { model, explained } = trace;
  const attention = attentionOf(model, state.attention);
  const has = (/** @type {typeof RANK_HAND[number]} */ one) => canPut(model, attention, one);
  const what = has(hand) ? hand : "stream";
  const side = trace.sides[sideOfRows(attention, what)];
  const spelled = /** @type {{tokens?: Token[]}|undefined} */ (explained.spelled);
  element.hidden = !source || !side || !spelled?.tokens || Boolean(model.picture);
  if (element.hidden || !side || !source) return;
  const { padCount, padSide } = state;
  const first = side.side === "source" && padSide === "left" ? padCount : 0;
  const last = side.tokens.length - (side.side === "source" && padSide === "right" ? padCount : 0);
  const ours = side.tokens.slice(first, last);
  const theirs = side.side === "source" ? /** @type {Token[]} */ (spelled?.tokens) : ours;
  if (now.about !== source) Object.assign(now, { armed: null, to: null, about: source });
  choice.show(what, (one) => actions.set(rankState.patch({ hand: one })), has);
  const { layer, head } = state;
  setText(
    parts.where,
    isOfHead(what) ? headName(model, { attention: attention.id, layer, head }) : t("hand.layer", { layer }),
  );
  const ids = { here: ours.map(({ id }) => id), there: theirs.map(({ id }) => id) };
  const names = { here: namesIn(ours), there: namesIn(theirs) };
  const joined = correspond(ids.here, ids.there);
  const put = (/** @type {number|null} */ row, /** @type {number|null} */ from) => {
    const made = putByHand(state, model, {
      ...{ what, source },
      ...{ row: row === null ? null : row + first, theirs: from === null ? null : from + first },
    });
    actions.set(editing(actions.get(), model, (one) => putOrTaken(one, made)));
  };
  parts.drop = (row) => {
    const from = now.armed;
    if (from === null) return;
    now.armed = null;
    if (joined[from] !== row) {
      const [there, here] = [names.there[from], names.here[row]].map((name) => h("b", null, nameNodes(name)));
      replace(parts.said, phrase("hand.apart", { there, here }));
      return parts.again();
    }
    const causal = trainedCausal(model) && state.causal !== false && stackOf(model, attention).side === side.side;
    if (changesNothing(ids.here, ids.there, { causal, row, theirs: from })) {
      replace(parts.said, phrase("hand.same", { token: h("b", null, nameNodes(names.here[row])) }));
      return parts.again();
    }
    put(row, from);
  };
  parts.all.hidden = ours.length !== theirs.length;
  parts.all.onclick = () => put(null, null);
  const pairs = pairsPut(state, source).map(([from, to]) => [from - first, to - first]);
  parts.trail = () => drawLines(parts, joined, pairs, Math.max(ours.length, theirs.length));
  parts.again = () => drawBoard(parts, { ids, names, joined, pairs });
  setText(parts.said, t("hand.about"));
  parts.again();
}

/**
 * @param {Parts} parts
 * @param {{ids: {here: number[], there: number[]}, names: {here: string[], there: string[]}, joined: (number|null)[], pairs: number[][]}} of
 */
function drawBoard({ board, theirs, ours, now, drop, again, trail }, { ids, names, joined, pairs }) {
  update(board, { style: { "--n": String(Math.max(ids.here.length, ids.there.length)) } });
  const isOther = (/** @type {number} */ i) => joined[i] === null || ids.there[i] !== ids.here[joined[i] ?? 0];
  const arm = (/** @type {number} */ i) => {
    now.armed = now.armed === i ? null : i;
    again();
  };
  const row = pairs.map(([, to]) => to);
  keepingFocus(board, () => {
    replace(
      theirs,
      names.there.map((name, i) => tokenOf("theirs", i, name, { other: isOther(i), on: now.armed === i }, arm)),
    );
    replace(
      ours,
      names.here.map((name, i) => tokenOf("ours", i, name, { other: false, on: row.includes(i) }, drop)),
    );
  });
  trail();
}

/** @param {"theirs"|"ours"} of @param {number} i @param {string} name @param {{other: boolean, on: boolean}} how @param {(i: number) => void} click */
function tokenOf(of, i, name, { other, on }, click) {
  const dataset = { [of]: String(i), focus: `${of} ${i}` };
  const about = { type: "button", class: `hand-token${other ? " other" : ""}`, "aria-pressed": String(on) };
  return h(
    "li",
    null,
    h("button", { ...about, translate: "no", dataset, on: { click: () => click(i) } }, nameNodes(name)),
  );
}

/** @param {Parts} parts @param {(number|null)[]} joined @param {number[][]} pairs @param {number} n  columns */
function drawLines({ lines, now }, joined, pairs, n) {
  const x = (/** @type {number} */ i) => `${((i + 0.5) / n) * 100}%`;
  const line =
    (/** @type {string} */ kind) =>
    (/** @type {number[]} */ [from, to]) =>
      svg("line", { x1: x(from), y1: "0", x2: x(to), y2: "100%", class: kind });
  const same = joined.flatMap((to, from) => (to === null ? [] : [[from, to]]));
  const dragged = now.armed !== null && now.to !== null ? [[now.armed, now.to]] : [];
  replace(lines, same.map(line("same")), pairs.map(line("put")), dragged.map(line("dragged")));
}
