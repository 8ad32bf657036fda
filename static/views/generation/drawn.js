/** How the chosen token was drawn, in words and as a bar, and where it looks in the open head. */

import { attentionsOf, isCross, writesTarget } from "../../model/description.js";
import { tokenName } from "../../model/labels.js";
import { inside } from "../../model/sides.js";
import { followsQuery, queryAt } from "../../model/written.js";
import { h, keepingFocus, replace } from "../../ui/dom.js";
import { briefPercent, number, percent } from "../../ui/format.js";
import { headWords } from "../../ui/heads.js";
import { phrase, t } from "../../ui/i18n.js";
import { namedToken, tokenText } from "../../ui/token_text.js";
import { placeOf } from "../places.js";
import { partsOf, roomFor, sharesLine, wordsWidth } from "./draw_bar.js";

/**
 * @import { ModelTrace } from "../../data/model_trace.js"
 * @import { Model } from "../../model/description.js"
 * @import { VocabularyToken } from "../../model/labels.js"
 * @import { Side } from "../../model/sides.js"
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Part } from "./draw_bar.js"
 * @import { Player } from "./buttons.js"
 * @import { Path, Session } from "./session.js"
 */

/** @param {Session} session @param {Player} player */
export function createDrawn(session, player) {
  const how = h("p", { class: "drawn-said", role: "status", dataset: { testid: "gen-drawn" } });
  const line = h("div", { class: "shares drawn-line", "aria-hidden": true, title: t("generation.shares_about") });
  const looks = h("p", { class: "dim looks-said", dataset: { testid: "gen-looks" } });
  /** What a click on the share of another token does: that one is written there. @param {Path} path @param {number} index */
  const takingAt =
    (path, index) =>
    (/** @type {Part} */ { id, hit }) => {
      if (id === null || hit || index < path.nPrompt) return null;
      const [token, taken] = [id, path.ids[index]].map((one) => tokenName(session.word(one)));
      const click = () => {
        player.pause();
        session.go({ ids: [...path.ids.slice(0, index), id], nPrompt: path.nPrompt });
      };
      return { title: t("generation.instead", { token, taken }), click };
    };
  return {
    /** In the line below the tree, and over it as a bar. */
    ...{ how, line },
    /** Folded away. */
    looks,
    /** @param {ModelTrace|null} trace @param {State} state */
    draw(trace, state) {
      const path = session.path();
      if (!path) return;
      const index = session.chosen(path);
      const step = session.known(index);
      const word = namedToken(session.word(path.ids[index]));
      const greedy = step?.settings.temperature === 0;
      replace(how, howOf({ step, index, word, path, greedy, from: trace?.targetFrom ?? null }));
      const { from, u } = step ?? session.taken(path.ids.slice(0, index + 1)) ?? { from: null, u: null };
      line.hidden = !from || (step && u === null);
      const wide = (/** @type {Part} */ part) => wordsWidth(part) < roomFor(part, u) * line.clientWidth;
      if (!line.hidden) {
        const parts = partsOf(session, from, u).map((one) => ({
          ...one,
          hit: u === null ? one.id === path.ids[index] : one.hit,
        }));
        replace(line, sharesLine(parts, u, wide, takingAt(path, index)));
      }
      const most = strongestOf(trace, state, path, index);
      if (most) replace(looks, looksOf(most, session.word(path.ids[index])));
      const isHead = placeOf(state).name === "head" && trace !== null && followsQuery(state, trace.model);
      looks.hidden = index < path.nPrompt || !isHead;
      looks.classList.toggle("stale", most === null); // keeps its place until the new row arrives
    },
  };
}

/** @param {{step: any, index: number, word: HTMLElement, path: Path, greedy: boolean, from: ModelTrace["targetFrom"]}} shown */
function howOf({ step, index, word, path, greedy, from }) {
  if (index < path.nPrompt) return "";
  if (!step && path.given && from) return t(`generation.given_${from}`);
  if (!step) return phrase("generation.by_hand", { token: word });
  if (step.u === null)
    return phrase(`generation.${step.typed ? "typed" : "forced"}`, { token: word, before: percent(step.before, 1) });
  const vars = { u: number(step.u, 2), token: word, index };
  const [before, after] = [briefPercent(step.before), briefPercent(step.after)];
  return phrase(greedy ? "generation.fell_greedy" : "generation.fell", { ...vars, before, after });
}

/** The strongest key of a row, from the open head's float32; null until that arrives. @param {ModelTrace|null} trace @param {State} state @param {Path} path @param {number} query */
function strongestOf(trace, { layer, head }, { ids }, query) {
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

/** @param {NonNullable<ReturnType<typeof strongestOf>>} most @param {VocabularyToken} query */
function looksOf({ of, key, token, weight }, query) {
  const value = h("span", { dataset: { key, value: weight } }, percent(weight));
  return phrase("generation.looks", {
    of,
    query: namedToken(query, "q"),
    key: namedToken(token, "k"),
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
