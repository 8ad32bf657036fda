/** The draw as a bar: the shares of [0, 1) that tokens have, and where the random number falls; before a step, and as it lands. */

import { typeScale, widthOf } from "../../chart/theme.js";
import { offeredAfter, tokenName } from "../../model/labels.js";
import { uniform } from "../../model/sampling.js";
import { rowOf } from "../../model/selection.js";
import { begins, endsText } from "../../model/written.js";
import { h, plainText, replaceChanged, setText } from "../../ui/dom.js";
import { briefPercent, number } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken, offeredText } from "../../ui/token_text.js";

/**
 * @import { ModelTrace, Prediction } from "../../data/model_trace.js"
 * @import { Token } from "../../model/labels.js"
 * @import { State } from "../../state/store.js"
 * @import { Session } from "./session.js"
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

/** The interval in which a number lies. @param {Share[]} shares @param {number} u */
const shareAt = (shares, u) => shares.find(({ from, to }) => u >= from && u < to) ?? shares.at(-1);

/**
 * @typedef {Share & {hit: boolean, text: (Node|string)[]}} Part  of the interval, with its words; `hit`: the number fell on it
 * @param {Session} session @param {Pick<Prediction, "candidates">} from @param {number|null} u  the random number; null: none is drawn
 * @param {Token} [before]  the token after which it falls
 * @returns {Part[]}
 */
export const partsOf = (session, from, u, before) =>
  keptShares(from).map((share, _, shares) => ({
    ...share,
    hit: u !== null && share === shareAt(shares, u),
    text: share.id === null ? [t("generation.others")] : offeredText(offeredAfter(session.word(share.id), before)),
  }));

/**
 * The candidate that a number will take; null: it is the likeliest, or not among those that were sent.
 * @param {Pick<Prediction, "candidates">} from @param {number} u
 */
export function takenBy({ candidates }, u) {
  const id = shareAt(keptShares({ candidates }), u)?.id ?? null;
  return candidates.find((one) => one.id === id && one !== candidates[0]) ?? null;
}

/** The side of the mark that has more room for words: the share of the other is left free. @param {Part} part @param {number|null} u @returns {{left: number, right: number}} */
const besideMark = ({ hit, from, to }, u) => {
  if (!hit || u === null) return { left: 0, right: 0 };
  return u - from > to - u ? { left: 0, right: to - u } : { left: u - from, right: 0 };
};

/** How much of the line the words of a part have. @param {Part} part @param {number|null} u */
export function roomFor(part, u) {
  const { left, right } = besideMark(part, u);
  return part.to - part.from - left - right;
}

/**
 * All parts of [0, 1) side by side, with u marked.
 * @param {Part[]} parts @param {number|null} u @param {(part: Part) => boolean} [fits]  whose words stand in it
 * @param {(part: Part) => {title: string, click: () => void}|null} [taking]  what a click on it does
 */
export const sharesLine = (parts, u, fits = () => false, taking = () => null) => [
  ...parts.map((part) => {
    const { left, right } = besideMark(part, u);
    const takes = taking(part);
    const kinds = ["share", part.hit && "hit", part.id === null && "rest", takes && "takes"];
    const style = {
      left: `${part.from * 100}%`,
      width: `${(part.to - part.from) * 100}%`,
      "padding-left": `${left * 100}%`,
      "padding-right": `${right * 100}%`,
    };
    const attrs = { class: kinds.filter(Boolean).join(" "), title: takes?.title, style };
    return h("span", { ...attrs, ...(takes && { on: { click: takes.click } }) }, fits(part) ? part.text : null);
  }),
  u !== null && h("i", { class: "u", style: { left: `${u * 100}%` } }),
];

/** The width of words in a share or under it, in pixels. @param {Part} part */
export const wordsWidth = ({ text }) => widthOf(plainText(text), 12 * typeScale(), "--font") + 6;

// In the dock: the draw of the place that the chips are about.

/** Its least width, in css/dock.css. Pixels. */
const BAR = 210;

/** How long the number falls. Milliseconds. */
const LANDING = 250;

/**
 * Over the bar the number stands where it will fall: seed and place determine it. In the bar it has fallen: the token that
 * follows was drawn with it.
 * @param {Session} session
 */
export function createDraw(session) {
  const said = h("span", { class: "draw-said", dataset: { testid: "dock-draw-said" } });
  const shares = h("span", { class: "shares", "aria-hidden": true, translate: "no" });
  const kept = h("span", { class: "draw-kept", dataset: { testid: "dock-draw-kept" } });
  const noted = h("span", { class: "draw-note", dataset: { testid: "dock-draw-note" } });
  const attrs = { class: "draw", dataset: { testid: "dock-draw" } };
  const node = h("div", attrs, said, noted, shares, kept);
  let drawn = "";
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  return {
    node,
    /** @param {ModelTrace} trace @param {State} state */
    draw(trace, state) {
      const { step, from, u, last } = drawOf(session, trace, state);
      const row = rowOf(state, trace);
      const parts = from ? partsOf(session, from, u, trace.written?.tokens[row]) : [];
      node.hidden = parts.length === 0 || state.temperature === 0 || endsText(trace, row);
      node.title = [t("generation.shares_about"), lastWords(session, last)].filter(Boolean).join("\n");
      if (!from || node.hidden) return;
      const now = `${trace.key} ${u}`;
      if (now !== drawn) node.classList.remove("lands"); // otherwise it goes on falling
      drawn = now;
      node.dataset.u = u === null ? "" : step ? "fell" : "stands";
      const hit = parts.find((part) => part.hit);
      const words = u !== null &&
        hit && { u: number(u, 2), token: tokenWords(session, hit, trace.written?.tokens[row]) };
      replaceChanged(said, words ? phrase(step ? "dock.draw_fell" : "dock.draw_falls", words) : t("dock.draw_none"));
      const named = namedIn(parts, u);
      replaceChanged(
        shares,
        sharesLine(parts, u, (part) => named.includes(part)),
      );
      setText(kept, t("dock.draw_kept", { n: from.n_kept }));
    },
    /** In the place of the number: why a candidate is not drawn. @param {string|null} why */
    note(why) {
      setText(noted, why ?? "");
    },
    /** The number falls, if there is one to see. @param {AbortSignal} signal @returns {Promise<void>} when it lies */
    async land(signal) {
      if (calm.matches || node.dataset.u !== "stands" || node.offsetParent === null) return;
      node.classList.add("lands");
      await new Promise((resolve) => {
        setTimeout(resolve, LANDING);
        signal.addEventListener("abort", resolve, { once: true });
      });
      if (signal.aborted) node.classList.remove("lands");
    },
  };
}

/** How the chosen token was drawn, if it was. @param {Session} session @param {any} step */
function lastWords(session, step) {
  if (!step || step.u === null || step.settings.temperature === 0) return "";
  const token = tokenName(session.word(step.token.id));
  const [u, before, after] = [number(step.u, 2), briefPercent(step.before), briefPercent(step.after)];
  return t("dock.draw_last", { u, token, before, after });
}

/** What the number falls on: a token, or one of those that are not listed. @param {Session} session @param {Part} part @param {Token} [before] */
const tokenWords = (session, { id }, before) =>
  id === null ? t("generation.others") : namedToken(offeredAfter(session.word(id), before));

/**
 * The draw of the token after the chosen row: made (`step`), or as this seed would make it. `u` null: the token there is forced.
 * @param {Session} session @param {ModelTrace} trace @param {State} state
 * `last`: the step that wrote the chosen token itself.
 * @returns {{step: any, from: Prediction|undefined, u: number|null, last: any}}
 */
export function drawOf(session, trace, state) {
  const { written } = trace;
  const row = rowOf(state, trace);
  if (!written) return { step: null, from: undefined, u: null, last: null };
  const ids = written.tokens.slice(written.real.start, written.real.end).map(({ id }) => id);
  const after = row - written.real.start + 1;
  const last = session.step(ids.slice(0, after));
  const step = after < ids.length ? session.step(ids.slice(0, after + 1)) : null;
  if (step && step.u !== null && step.settings.temperature > 0) return { step, from: step.from, u: step.u, last };
  const { nPrompt } = session.path() ?? { nPrompt: 0 };
  const answer = ids.slice(nPrompt, after).map(session.word);
  const forced = after >= nPrompt && begins(state.begin, session.word(ids[nPrompt - 1]), answer);
  return { step: null, from: trace.predictions[row], u: forced ? null : uniform(state.seed, after), last };
}

/** The token that the draw after the chosen row takes, or took; greedy takes the likeliest. Null: it is forced, or not listed. @param {Session} session @param {ModelTrace} trace @param {State} state */
export function takenAfter(session, trace, state) {
  const { from, u } = drawOf(session, trace, state);
  if (!from || u === null) return null;
  const shares = keptShares(from);
  return (state.temperature === 0 ? shares[0] : shareAt(shares, u))?.id ?? null;
}

/** The shares in which their names stand. That of the one on which the number falls is said over the bar: alone it would only say it again. @param {Part[]} parts @param {number|null} u @param {(part: Part) => number} [width] */
export function namedIn(parts, u, width = wordsWidth) {
  const named = parts.filter((part) => width(part) <= BAR * roomFor(part, u));
  return named.some(({ hit }) => !hit) ? named : [];
}
