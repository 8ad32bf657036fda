/** What was measured about the gradients, in words. */

import { tokenLabel } from "../../model/labels.js";
import { h } from "../../ui/dom.js";
import { agrees, number, percent, significant } from "../../ui/format.js";
import { phrase, t } from "../../ui/i18n.js";

/** The measured facts only. */
export function saidOf(trace, runs, lines) {
  const [on, off] = runs;
  const name = trace.classes ? trace.model.classes[on.answer] : labelOf(trace, on.answer);
  const times = lines.map(({ values }) => (values.at(-1) > 0 && values[0] > 0 ? values[0] / values.at(-1) : null));
  const parts = {
    answer: h("b", { class: "mono" }, name),
    row: on.row,
    on: h("b", { class: "mono" }, number(on.log_p, 3)),
    off: h("b", { class: "mono" }, number(off.log_p, 3)),
  };
  const measured =
    times.every((one) => one !== null) &&
    t("residual.measured", {
      on: significant(times[0], 3),
      off: significant(times[1], 3),
      last: lines[0].values.length - 1,
    });
  const zero = lines.some(({ values }) => values.some((value) => value === 0)) && t("residual.zero");
  return [
    h("span", null, phrase(trace.classes ? "residual.log_p_class" : "residual.log_p", parts)),
    " ",
    checkOf(trace, on),
    " ",
    measured,
    " ",
    zero,
  ].filter(Boolean);
}

const labelOf = ({ explained }, id) =>
  explained.gradients.tokens[id] ? tokenLabel(explained.gradients.tokens[id]) : String(id);

/** The server's ln p against the probability that the page shows elsewhere. */
function checkOf(trace, { row, answer, log_p }) {
  const p = trace.classes
    ? trace.classes.find(({ name }) => name === trace.model.classes[answer])?.probability
    : trace.predictions[row]?.candidates.find(({ id }) => id === answer)?.before;
  if (p === undefined) return null;
  const ok = agrees(Math.exp(log_p), p);
  return h(
    "span",
    { class: ok ? "check" : "check bad", dataset: { testid: "log-p", agrees: ok } },
    t(!ok ? "residual.p_differs" : trace.classes ? "residual.p_agrees_class" : "residual.p_agrees", {
      p: percent(p, 3),
    }),
  );
}
