/** Which of four candidates does the model consider most likely? */

import { writesTarget } from "../../../model/description.js";
import { rowOf } from "../../../model/selection.js";
import { integer, percent } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { listedToken, namedToken, predictionPlace } from "../../../ui/token_text.js";
import { figure, scramble } from "./pieces.js";

/**
 * @import { ModelTrace } from "../../../data/model_trace.js"
 * @import { Ask } from "./pieces.js"
 */

/** The ranks of the options: close enough to be a real question. */
const RANKS = [0, 1, 3, 7];

/** @type {Ask} */
export function askNext(trace, state) {
  // A translation on the page already shows which token was the most likely.
  if (trace.lacks("prediction") || (writesTarget(trace.model) && trace.targetFrom === "greedy")) return null;
  const row = rowOf(state, trace);
  const prediction = trace.predictions[row];
  if (!prediction) return undefined;
  const { candidates } = prediction;
  const asked = RANKS.filter((rank) => rank < candidates.length).sort(
    (a, b) => scramble(candidates[a].id) - scramble(candidates[b].id),
  );
  if (asked.length < 2) return null;
  return {
    key: `next ${trace.key} ${row}`,
    asks: [t("quiz.next.ask", { where: predictionPlace(trace, row) })],
    options: asked.map((rank) => listedToken(candidates[rank])),
    judge: (choice) => ({
      right: asked.indexOf(0),
      says: saysOf(trace, candidates, choice === null ? 0 : asked[choice]),
    }),
  };
}

/**
 * Beside the most likely: the guess, or the second.
 * @param {ModelTrace} trace @param {any[]} candidates @param {number} guessed  its rank, from 0
 */
function saysOf({ model }, candidates, guessed) {
  const rank = guessed || 1;
  const [best, other] = [candidates[0], candidates[rank]];
  const parts = {
    token: namedToken(best),
    p: figure(percent(best.before)),
    other: namedToken(other),
    q: figure(percent(other.before)),
  };
  return phrase("quiz.next.says", { ...parts, rank: rank + 1, vocab: integer(model.vocab_size) });
}
