/** Which token does the open head look at most? */

import { has, trainedCausal, writesTarget } from "../../../model/description.js";
import { position } from "../../../model/selection.js";
import { inside } from "../../../model/sides.js";
import { queryName } from "../../../model/written.js";
import { h } from "../../../ui/dom.js";
import { percent, significant } from "../../../ui/format.js";
import { headLabel } from "../../../ui/heads.js";
import { phrase, t } from "../../../ui/i18n.js";
import { namedToken } from "../../../ui/token_text.js";
import { canAskMask, figureText, spreadOut, tellable } from "../question.js";

/**
 * @import { Detail } from "../../../data/model_trace.js"
 * @import { Ask } from "../question.js"
 */

// The causal mask is toggled: whose row of the open head changes most?

/** Rows that change nearly as much as the one that changes most are not offered. */
const CHANGE_GAP = 0.08;

/** @type {Ask} */
export function askMask(trace, state) {
  const { model, detail, comparedDetail, attention, queries } = trace;
  if (!canAskMask(state) || !has(attention, "overview") || isReading(model, attention)) return null;
  const open = (/** @type {Detail|null} */ run) =>
    run?.layer === state.layer && run.head === state.head && run.attention === attention.id;
  if (!detail || !comparedDetail || !open(detail) || !open(comparedDetail)) return undefined;
  const ranked = tellable(rowsByChange(detail.overview, comparedDetail.overview), ({ moved }) => moved, CHANGE_GAP);
  if (ranked.length < 2) return null;
  const asked = spreadOut(ranked).sort((a, b) => a.row - b.row);
  const name = (/** @type {number} */ row) => namedToken(queries.tokens[row], "q", row);
  return {
    key: `mask ${trace.key} ${attention.id} ${state.layer} ${state.head}`,
    asks: [
      t(trainedCausal(model) ? "quiz.mask.ask_off" : "quiz.mask.ask_on", {
        head: headLabel(model, { ...state, attention: attention.id }),
      }),
    ],
    options: asked.map(({ row }) => name(row)),
    judge(choice) {
      const chosen = choice === null ? ranked[0] : asked[choice];
      const beside = chosen === ranked[0] ? ranked[1] : chosen;
      const parts = () => ({
        token: name(ranked[0].row),
        p: figureText(percent(ranked[0].moved)),
        other: name(beside.row),
        q: figureText(percent(beside.moved)),
      });
      return {
        right: asked.indexOf(ranked[0]),
        says: () => phrase(trainedCausal(model) ? "quiz.mask.says_off" : "quiz.mask.says_on", parts()),
      };
    },
    more: {
      words: t("quiz.mask.more"),
      patch: { compare: true, view: "attention", viewState: { attention: { step: "weights" } } },
    },
  };
}

/** A translator's causal mask does nothing to the stack that reads. @param {any} model @param {{queries: string}} attention */
const isReading = (model, { queries }) => writesTarget(model) && queries === "source";

/** ½ Σ|after − before| of each row, the largest first. @param {Detail["overview"]} before @param {Detail["overview"]} after */
function rowsByChange(before, after) {
  const [rows, n] = before.shape;
  const moved = (/** @type {number} */ row) => {
    let sum = 0;
    for (let at = row * n; at < (row + 1) * n; at++) sum += Math.abs(after.data[at] - before.data[at]);
    return sum / 2;
  };
  return Array.from({ length: rows }, (_, row) => ({ row, moved: moved(row) })).sort((a, b) => b.moved - a.moved);
}

/** Weights closer to the largest than this are not offered as options. */
const WEIGHT_GAP = 0.03;

/** @type {Ask} */
export function askAttention(trace, state) {
  if (trace.lacks("detail")) return null;
  const { detail, keys, queries, attention } = trace;
  if (detail?.layer !== state.layer || detail.head !== state.head || detail.attention !== attention.id)
    return undefined;
  if (!detail.overview) return null;
  const { query } = position(state, trace);
  const ranked = tellable(rankedKeys(detail, keys.real, query), ({ weight }) => weight, WEIGHT_GAP);
  if (ranked.length < 2) return null;
  const asked = spreadOut(ranked).sort((a, b) => a.key - b.key);
  const name = (/** @type {number} */ key) => namedToken(keys.tokens[key], "k", key);
  const crossed = queries !== keys;
  const head = headLabel(trace.model, { ...state, attention: attention.id });
  return {
    key: `attention ${trace.key} ${attention.id} ${state.layer} ${state.head} ${query}`,
    asks: phrase(crossed ? "quiz.attention.ask_cross" : "quiz.attention.ask", {
      head,
      query: crossed
        ? h("b", { class: "mono token-name q", translate: "no" }, queryName(trace, query))
        : namedToken(queries.tokens[query], "q", query),
    }),
    options: asked.map(({ key }) => name(key)),
    judge(choice) {
      const chosen = choice === null ? ranked[0] : asked[choice];
      const other = chosen === ranked[0] ? ranked[1] : chosen;
      const parts = () => ({
        key: name(ranked[0].key),
        w: figureText(significant(ranked[0].weight, 3)),
        other: name(other.key),
        v: figureText(significant(other.weight, 3)),
      });
      return { right: asked.indexOf(ranked[0]), says: () => phrase("quiz.attention.says", parts()) };
    },
  };
}

/**
 * The keys that a query may attend to, the largest weight first.
 * @param {Detail} detail @param {{start: number, end: number}} real  the keys that are no PADs @param {number} query
 */
function rankedKeys({ overview, mask }, real, query) {
  const n = overview.shape[1];
  const all = Array.from({ length: n }, (_, key) => ({
    key,
    weight: overview.data[query * n + key],
    reasons: mask.data[query * n + key],
  }));
  return all.filter(({ key, reasons }) => reasons === 0 && inside(real, key)).sort((a, b) => b.weight - a.weight);
}
