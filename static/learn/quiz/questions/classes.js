/** Which class does a classifier give the text? */

import { number, percent } from "../../../ui/format.js";
import { keyFor, phrase, t } from "../../../ui/i18n.js";
import { className } from "../../../ui/token_text.js";
import { figure } from "./pieces.js";

/** @import { Ask } from "./pieces.js" */

/** @type {Ask} */
export function askClasses(trace) {
  const { classes } = trace;
  if (!classes || classes.length < 2) return null;
  const ranked = [...classes].sort((a, b) => b.probability - a.probability);
  return {
    key: `classes ${trace.key}`,
    asks: [t(keyFor(trace.model, "quiz.classes.ask"))],
    options: classes.map(({ name }) => className(name)),
    judge(choice) {
      const other = choice === null || classes[choice] === ranked[0] ? ranked[1] : classes[choice];
      const [name, beside] = [ranked[0], other].map((one) => figure(className(one.name)));
      const shares = { p: figure(percent(ranked[0].probability)), q: figure(percent(other.probability)) };
      const gap = figure(number(ranked[0].logit - other.logit, 2));
      return {
        right: classes.indexOf(ranked[0]),
        says: phrase("quiz.classes.says", { name, other: beside, gap, ...shares }),
      };
    },
  };
}
