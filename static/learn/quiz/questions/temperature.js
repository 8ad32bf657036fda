/**
 * Another temperature: how does the probability of the leading candidate change? The model is asked when the guess is
 * made.
 */

import { rowOf } from "../../../model/selection.js";
import { number, percent } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { namedToken } from "../../../ui/token_text.js";
import { figure } from "./pieces.js";

/** @import { Ask } from "./pieces.js" */

const OPTIONS = ["rises", "falls", "stays"];
/** A smaller change is not visible in "41.2 %". */
const STAYS = 5e-4;
/** Above this probability there is nothing to guess. */
const SURE = 0.98;

/** @type {Ask} */
export function askTemperature(trace, state, actions) {
  if (trace.lacks("prediction") || state.temperature === 0) return null;
  const row = rowOf(state, trace);
  const prediction = trace.predictions[row];
  if (!prediction || prediction.settings.temperature !== state.temperature) return undefined;
  const [best] = prediction.candidates;
  if (best.after > SURE) return null;
  const then = state.temperature > 0.5 ? state.temperature / 2 : state.temperature * 2;
  const shares = {
    token: namedToken(best),
    p: figure(percent(best.after)),
    t: short(state.temperature),
    u: short(then),
  };
  return {
    key: `temperature ${trace.key} ${row} ${state.temperature} ${state.topK} ${state.topP}`,
    asks: phrase("quiz.temperature.ask", shares),
    options: OPTIONS.map((name) => t(`quiz.temperature.${name}`)),
    async judge() {
      const other = await actions.predict({ ...state, temperature: then }, row, "quiz");
      const share = other.candidates.find(({ id }) => id === best.id)?.after ?? 0;
      const right = Math.abs(share - best.after) < STAYS ? 2 : share > best.after ? 0 : 1;
      const key = right === 2 ? "same" : then < state.temperature ? "lower" : "higher";
      // A node can only be in one place, so the answer needs its own.
      return {
        right,
        says: phrase(`quiz.temperature.${key}`, {
          ...shares,
          token: namedToken(best),
          p: figure(percent(best.after)),
          q: figure(percent(share)),
        }),
      };
    },
    more: { words: t("quiz.temperature.more", { u: short(then) }), patch: { temperature: then } },
  };
}

const short = (value) => number(value, 3).replace(/\.?0+$/, "");
