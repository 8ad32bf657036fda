/** Which token does the open head look at most? */

import { inside } from "../../../model/compare/measure.js";
import { position } from "../../../model/selection.js";
import { significant } from "../../../ui/format.js";
import { headLabel } from "../../../ui/heads.js";
import { phrase } from "../../../ui/i18n.js";
import { namedToken } from "../../../ui/token_text.js";
import { figure, spread, tellable } from "./pieces.js";

/** @import { Ask } from "./pieces.js" */

/** Weights closer to the largest than this are not offered as options. */
const GAP = 0.03;

/** @type {Ask} */
export function askAttention(trace, state) {
  if (trace.lacks("detail")) return null;
  const { detail, keys, queries, attention } = trace;
  if (detail?.layer !== state.layer || detail.head !== state.head || detail.attention !== attention.id)
    return undefined;
  if (!detail.overview) return null;
  const { query } = position(state, trace);
  const ranked = tellable(rankedKeys(detail, keys.real, query), ({ weight }) => weight, GAP);
  if (ranked.length < 2) return null;
  const asked = spread(ranked).sort((a, b) => a.key - b.key);
  const name = (key) => namedToken(keys.tokens[key], "k", key);
  const crossed = queries !== keys;
  const head = headLabel(trace.model, { ...state, attention: attention.id });
  return {
    key: `attention ${trace.key} ${attention.id} ${state.layer} ${state.head} ${query}`,
    asks: phrase(crossed ? "quiz.attention.ask_cross" : "quiz.attention.ask", {
      head,
      query: namedToken(queries.tokens[query], "q", query),
    }),
    options: asked.map(({ key }) => name(key)),
    judge(choice) {
      const chosen = choice === null ? ranked[0] : asked[choice];
      const other = chosen === ranked[0] ? ranked[1] : chosen;
      const parts = {
        key: name(ranked[0].key),
        w: figure(significant(ranked[0].weight, 3)),
        other: name(other.key),
        v: figure(significant(other.weight, 3)),
      };
      return { right: asked.indexOf(ranked[0]), says: phrase("quiz.attention.says", parts) };
    },
  };
}

/** The keys that a query may look at, the largest weight first. */
function rankedKeys({ overview, mask }, real, query) {
  const n = overview.shape[1];
  const all = Array.from({ length: n }, (_, key) => ({
    key,
    weight: overview.data[query * n + key],
    reasons: mask.data[query * n + key],
  }));
  return all.filter(({ key, reasons }) => reasons === 0 && inside(real, key)).sort((a, b) => b.weight - a.weight);
}
