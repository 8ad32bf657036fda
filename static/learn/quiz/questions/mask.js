/** The causal mask is toggled: whose row of the open head changes most? */

import { has, trainedCausal, writesTarget } from "../../../model/description.js";
import { percent } from "../../../ui/format.js";
import { headLabel } from "../../../ui/heads.js";
import { phrase, t } from "../../../ui/i18n.js";
import { namedToken } from "../../../ui/token_text.js";
import { canAskMask } from "../places.js";
import { figure, spread, tellable } from "./pieces.js";

/** @import { Ask } from "./pieces.js" */

/** Rows that change nearly as much as the one that changes most are not offered. */
const GAP = 0.08;

/** @type {Ask} */
export function askMask(trace, state) {
  const { model, detail, comparedDetail, attention, queries } = trace;
  if (!canAskMask(state) || !has(attention, "overview") || isReading(model, attention)) return null;
  const open = (run) => run?.layer === state.layer && run.head === state.head && run.attention === attention.id;
  if (!detail || !comparedDetail || !open(detail) || !open(comparedDetail)) return undefined;
  const ranked = tellable(rowsByChange(detail.overview, comparedDetail.overview), ({ moved }) => moved, GAP);
  if (ranked.length < 2) return null;
  const asked = spread(ranked).sort((a, b) => a.row - b.row);
  const name = (row) => namedToken(queries.tokens[row], "q", row);
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
      const parts = {
        token: name(ranked[0].row),
        p: figure(percent(ranked[0].moved)),
        other: name(beside.row),
        q: figure(percent(beside.moved)),
      };
      return {
        right: asked.indexOf(ranked[0]),
        says: phrase(trainedCausal(model) ? "quiz.mask.says_off" : "quiz.mask.says_on", parts),
      };
    },
    more: {
      words: t("quiz.mask.more"),
      patch: { compare: true, view: "attention", own: { attention: { step: "weights" } } },
    },
  };
}

/** A translator's causal mask does nothing to the stack that reads. */
const isReading = (model, { queries }) => writesTarget(model) && queries === "source";

/** ½ Σ|after − before| of each row, the largest first. */
function rowsByChange(before, after) {
  const [rows, n] = before.shape;
  const moved = (row) => {
    let sum = 0;
    for (let at = row * n; at < (row + 1) * n; at++) sum += Math.abs(after.data[at] - before.data[at]);
    return sum / 2;
  };
  return Array.from({ length: rows }, (_, row) => ({ row, moved: moved(row) })).sort((a, b) => b.moved - a.moved);
}
