/** How the chosen token was drawn, in the dock and over the branches, and where it looks in the open head. */

import { typeScale, widthOf } from "../../chart/theme.js";
import { attentionsOf, isCross, writesTarget } from "../../model/description.js";
import { tokenName } from "../../model/labels.js";
import { rowOf } from "../../model/selection.js";
import { inside } from "../../model/sides.js";
import { followsQuery, queryAt } from "../../model/written.js";
import { h, keepingFocus, plainText, replace } from "../../ui/dom.js";
import { number, percent } from "../../ui/format.js";
import { headWords } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken, tokenText } from "../../ui/token_text.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Model } from "../../model/description.js"
 * @import { VocabularyToken } from "../../model/labels.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Path, Session } from "./session.js"
 */

// How a random number picks a token: the probabilities of the kept candidates divide [0, 1) into intervals, the most
// likely first, and the number lies in one of them. The order is that of `draw` in model/sampling.py.

/**
 * @typedef {{id: number|null, from: number, to: number}} Share  id null: all tokens beyond the candidates that were
 * sent
 * @param {{candidates: {id: number, after: number}[]}} prediction
 * @returns {Share[]}
 */
function keptShares({ candidates }) {
  const kept = candidates.filter(({ after }) => after > 0).sort((a, b) => b.after - a.after || a.id - b.id);
  /** @type {Share[]} */
  const shares = [];
  let to = 0;
  for (const { id, after } of kept) {
    shares.push({ id, from: to, to: to + after });
    to += after;
  }
  // What is left for the rest of the vocabulary; a difference of 1e-6 is rounding on the wire.
  if (to < 1 - 1e-6) shares.push({ id: null, from: to, to: 1 });
  return shares;
}

/**
 * @typedef {Share & {hit: boolean, text: (Node|string)[]}} Part  of the interval, with its words; `hit`: the number fell on it
 * @param {Session} session @param {any} from  a prediction @param {any} drawn  the step that drew from it; null: none did yet
 * @returns {Part[]}
 */
const partsOf = (session, from, drawn) =>
  keptShares(from).map((share) => ({
    ...share,
    hit: drawn !== null && (share.id === drawn.token.id || (share.id === null && drawn.u >= share.from)),
    text: share.id === null ? [t("generation.others")] : tokenText(session.word(share.id)),
  }));

/** All parts of [0, 1) side by side, with u marked. @param {Part[]} parts @param {number|null} u @param {(part: Part) => boolean} [fits]  whose words stand in it */
const sharesLine = (parts, u, fits = () => false) => [
  ...parts.map((part) =>
    h(
      "span",
      {
        class: `share${part.hit ? " hit" : ""}${part.id === null ? " rest" : ""}`,
        style: { left: `${part.from * 100}%`, width: `${(part.to - part.from) * 100}%` },
      },
      fits(part) ? part.text : null,
    ),
  ),
  u !== null && h("i", { class: "u", style: { left: `${u * 100}%` } }),
];

/** The width of words in a share or under it, in pixels. @param {Part} part @param {string} face */
const wordsWidth = ({ text }, face) => widthOf(plainText(text), 12 * typeScale(), face) + 6;

// In the dock: a bar.

/** Its least width, in css/dock.css. Pixels. */
const BAR = 180;

/**
 * How the chosen token was drawn: the shares, the random number, and the token on which it fell. Of a token that was not
 * drawn here, what its row's draw would divide.
 * @param {Session} session
 */
export function createDraw(session) {
  const said = h("span", { class: "draw-said", dataset: { testid: "dock-draw-said" } });
  const shares = h("span", { class: "shares", "aria-hidden": true, translate: "no" });
  const names = h("span", { class: "draw-names", "aria-hidden": true, translate: "no" });
  const attrs = { class: "draw", title: t("generation.shares_about"), dataset: { testid: "dock-draw" } };
  const node = h("div", attrs, said, shares, names);
  return {
    node,
    /** @param {ModelTrace} trace @param {State} state */
    draw(trace, state) {
      const path = session.path();
      const step = path && session.drawn(session.chosen(path));
      const drawn = step?.settings.temperature > 0 && step.u !== null ? step : null; // a forced token was not drawn
      const from = drawn ? drawn.from : trace.predictions[rowOf(state, trace)];
      node.hidden = !from || state.temperature === 0;
      if (node.hidden) return;
      const words = drawn && { u: number(drawn.u, 2), token: namedToken(drawn.token) };
      replace(said, words ? phrase("dock.draw_fell", words) : t("dock.draw"));
      const [parts, u] = [partsOf(session, from, drawn), drawn?.u ?? null];
      replace(shares, sharesLine(parts, u));
      replace(names, namesUnder(parts, u));
    },
  };
}

/** The names of the shares that are wide enough, and that of the one on which the number fell, below it. @param {Part[]} parts @param {number|null} u */
function namesUnder(parts, u) {
  const placed = parts.map((part) => {
    const width = wordsWidth(part, "--font") / BAR;
    const middle = part.hit && u !== null ? u : (part.from + part.to) / 2;
    const left = Math.max(0, Math.min(1 - width, middle - width / 2));
    return { ...part, left, right: left + width, fits: part.hit || width <= part.to - part.from };
  });
  const hit = placed.find((one) => one.hit);
  return placed
    .filter((one) => one.fits && (one === hit || !hit || one.right <= hit.left || one.left >= hit.right))
    .map(({ left, hit, text }) => h("span", { class: hit ? "hit" : null, style: { left: `${left * 100}%` } }, text));
}

// Over the branches: the same, larger, and in words.

/** @param {Session} session */
export function createDrawn(session) {
  const how = h("p", { class: "how", role: "status", dataset: { testid: "gen-drawn" } });
  const line = h("div", { class: "shares", "aria-hidden": true, title: t("generation.shares_about") });
  const looks = h("p", { class: "dim looks-said", dataset: { testid: "gen-looks" } });
  const node = h("div", { class: "drawn" }, how, line, looks);

  return {
    node,
    /** @param {ModelTrace|null} trace @param {State} state */
    draw(trace, state) {
      const path = session.path();
      if (!path) return;
      const index = session.chosen(path);
      const step = session.drawn(index);
      const word = namedToken(session.word(path.ids[index]));
      const [blocked, greedy] = [session.blocked(), step?.settings.temperature === 0];
      replace(how, howOf({ step, index, word, path, greedy, blocked, from: trace?.targetFrom ?? null }));
      line.hidden = !step || step.u === null;
      const wide = (/** @type {Part} */ part) => wordsWidth(part, "--mono") < (part.to - part.from) * line.clientWidth;
      if (!line.hidden) replace(line, sharesLine(partsOf(session, step.from, step), step.u, wide));
      const place = placeOf(trace, state, path, index);
      if (place) replace(looks, looksOf(place, session.word(path.ids[index])));
      looks.hidden = index < path.nPrompt || (trace !== null && !followsQuery(state, trace.model));
      looks.classList.toggle("stale", place === null); // keeps its place until the new row arrives
    },
  };
}

/** @param {{step: any, index: number, word: HTMLElement, path: Path, greedy: boolean, blocked: string|null, from: ModelTrace["targetFrom"]}} shown */
function howOf({ step, index, word, path, greedy, blocked, from }) {
  if (index < path.nPrompt) return blocked ? "" : t("generation.hint");
  if (!step && path.given && from) return t(`generation.given_${from}`);
  if (!step) return phrase("generation.by_hand", { token: word });
  if (step.u === null) return phrase("generation.forced", { token: word, before: percent(step.before, 1) });
  const vars = { u: h("b", { class: "mono" }, number(step.u, 4)), token: word, index };
  const [before, after] = [percent(step.before), percent(step.after)];
  return phrase(greedy ? "generation.fell_greedy" : "generation.fell", { ...vars, before, after });
}

/** The strongest key of a row, from the open head's float32; null until that arrives. @param {ModelTrace|null} trace @param {State} state @param {Path} path @param {number} query */
function placeOf(trace, { layer, head }, { ids }, query) {
  const detail = trace?.detail;
  if (
    !trace ||
    !detail?.overview ||
    detail.layer !== layer ||
    detail.head !== head ||
    detail.attention !== trace.attention.id
  )
    return null;
  const { written, queries, keys } = trace;
  if (written !== queries || !isTrace(written, ids)) return null;
  const { start, end } = keys.real;
  const from = (written.real.start + query) * detail.overview.shape[1];
  const row = detail.overview.data.subarray(from + start, from + end);
  const key = row.reduce((best, value, i) => (value > row[best] ? i : best), 0);
  const of = headWords(trace.model, { attention: detail.attention, layer, head });
  return { of, key, token: keys.tokens[start + key], weight: row[key] };
}

/** Whether these are the ids that were traced. @param {Side} side @param {number[]} ids */
function isTrace({ tokens, real: { start, end } }, ids) {
  return end - start === ids.length && ids.every((id, i) => id === tokens[start + i].id);
}

/** @param {NonNullable<ReturnType<typeof placeOf>>} place @param {VocabularyToken} query */
function looksOf({ of, key, token, weight }, query) {
  const value = h("b", { class: "mono" }, number(weight));
  return phrase("generation.looks", {
    of,
    query: namedToken(query, "q"),
    key: namedToken(token, "k"),
    at: key,
    weight: value,
  });
}

// Which source tokens the chosen target token looks at: the cross-attention row of the open head, as bars.

/**
 * @param {Session} session
 * @param {Actions} actions
 */
export function createCrossRow(session, actions) {
  const about = h("p", { class: "dim" });
  const row = h("div", { class: "looks", role: "group", dataset: { testid: "gen-cross" } });
  const node = h("div", { class: "cross-row" }, about, row);

  const choose = (/** @type {number} */ index, /** @type {number} */ key) => {
    const [state, model] = [actions.get(), session.model()];
    actions.set({ attention: null, query: queryAt(state, model, index), key });
  };

  return {
    node,
    /** @param {ModelTrace|null} trace @param {State} state */
    draw(trace, state) {
      const cross = crossOf(trace?.model);
      node.hidden = !writesTarget(trace?.model) || !cross;
      const path = session.path();
      if (!trace?.written || !cross || node.hidden || !path) return;
      const fits = isTrace(trace.written, path.ids);
      node.classList.toggle("stale", !fits); // keeps its place until the new row arrives
      if (!fits) return;
      const index = session.chosen(path);
      const { layer, head } = state;
      const of = headWords(trace.model, { attention: cross.id, layer, head });
      const token = namedToken(session.word(path.ids[index]), "q");
      const weights = trace.row(layer, head, index, cross.id);
      row.hidden = !weights;
      if (!weights) return replace(about, t("generation.cross_pooled", { of, n: trace.pool }));
      replace(about, phrase("generation.cross", { of, token, next: index + 1 }));
      row.setAttribute("aria-label", about.textContent ?? "");
      const lit = trace.attention === cross ? state.key : null;
      keepingFocus(row, () => replace(row, barsOf(trace, weights, index, lit, choose)));
    },
  };
}

/** The attention in which one side looks at the other; null if there is none with a picture. @param {Model} model */
const crossOf = (model) => attentionsOf(model).find((one) => isCross(one) && one.overview) ?? null;

/** @param {ModelTrace} trace @param {ArrayLike<number>} weights @param {number} index @param {number|null} lit @param {(index: number, key: number) => void} choose */
function barsOf(trace, weights, index, lit, choose) {
  const { tokens, real } = trace.sides.source;
  return tokens.map((token, key) => {
    const weight = weights[key];
    const label = t("generation.cross_key", { token: tokenName(token), key });
    const attrs = {
      class: `look${key === lit ? " k" : ""}${inside(real, key) ? "" : " pad"}`,
      type: "button",
      title: label,
    };
    return h(
      "button",
      {
        ...attrs,
        style: { "--share": weight },
        dataset: { key, weight, focus: key },
        on: { click: () => choose(index, key) },
      },
      h("i", { class: "bar", "aria-hidden": true }),
      h("span", { class: "mono" }, tokenText(token)),
    );
  });
}
