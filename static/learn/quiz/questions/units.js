/**
 * How many units of the open layer's FFN stay silent for the whole text? The wrong options are the counts of other
 * layers.
 */

import { integer } from "../../../ui/format.js";
import { keyFor, phrase } from "../../../ui/i18n.js";
import { figure } from "./pieces.js";

/** @import { Ask } from "./pieces.js" */

/** For models with too few layers: fractions of all units. */
const SHARES = [0.02, 0.3, 0.75];

/** @type {Ask} */
export function askUnits(trace, state) {
  if (trace.lacks("explain:units")) return null;
  const answer = trace.explained.units;
  if (!answer) return undefined;
  if (answer.refused) return null;
  const ffns = answer.ffns.filter(({ stack }) => stack === trace.attention.stack);
  const open = ffns.find(({ layer }) => layer === state.layer);
  if (!open) return null;
  const [n, d_ff] = [open.dead.length, open.fires.length];
  const asked = fourOf(n, d_ff, ffns);
  const vars = () => ({ n: figure(integer(n)), d_ff: integer(d_ff), layer: state.layer });
  return {
    key: `units ${trace.key} ${open.path}`,
    asks: phrase(keyFor(trace.model, "quiz.units.ask"), vars()),
    options: asked.map((count) => integer(count)),
    judge(choice) {
      const guessed = choice === null ? n : asked[choice];
      const owner = ffns.find(({ dead }) => dead.length === guessed);
      if (guessed === n) return { right: asked.indexOf(n), says: phrase("quiz.units.right", vars()) };
      const key = owner ? "quiz.units.wrong_layer" : "quiz.units.wrong";
      return {
        right: asked.indexOf(n),
        says: phrase(key, { ...vars(), guess: integer(guessed), other: owner?.layer ?? "" }),
      };
    },
  };
}

/** The right number and three others, all far enough apart. */
function fourOf(n, d_ff, ffns) {
  const found = [n];
  for (const count of [...ffns.map(({ dead }) => dead.length), ...SHARES.map((share) => Math.round(share * d_ff))]) {
    if (found.length < 4 && found.every((one) => Math.abs(one - count) > d_ff / 25)) found.push(count);
  }
  return found.sort((a, b) => a - b);
}
