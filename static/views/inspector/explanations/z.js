/** The arithmetic of one element of z = A·V: what each key contributes in one dimension, and the sum. */

import { drawTermBars } from "../../../chart/bars/bars.js";
import { isOpenHeadOff } from "../../../model/edits.js";
import { headIn, largest, rowIn, sum } from "../../../model/matrix.js";
import { queryName } from "../../../model/written.js";
import { h } from "../../../ui/dom.js";
import { checkOf, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { chosenElement, termsOf, valued } from "../../av/sum.js";
import { nameIn } from "../card.js";
import { buildExplanation, drawKeyFigures, drawSays, drawSentence, drawTitle, tokenInRole, value } from "../parts.js";

/** @import { HeadDraw } from "../../view.js" */

const elementsOf = buildExplanation(["terms", "sum"]);

/** @type {HeadDraw} */
export function draw(root, trace, state, actions) {
  const parts = elementsOf(root);
  const z = headIn(trace.role("z", state.layer), state.head);
  const { query, dimension: d } = chosenElement(state, trace);
  const { weights, column, terms } = termsOf(valued(trace, query), query, d);
  const off = isOpenHeadOff(state, trace);
  drawTitle(
    parts,
    "inspector.title_z",
    phrase("inspector.z_of", {
      query: value(queryName(trace, query), "q"),
      d: value(String(d)),
    }),
  );
  drawSentence(parts.steps.terms, "inspector.z_terms", { n: terms.length, a: value("a"), v: value("v", "v") });
  drawTermBars(parts.steps.terms.more, {
    terms,
    label: t("inspector.z_label", { d, n: terms.length }),
    words: (j) =>
      t("inspector.z_term", {
        key: nameIn(trace.keys.tokens, j),
        a: significant(weights[j]),
        v: signed(column[j], 3),
        value: signed(terms[j], 3),
      }),
    onChoose: (j) => actions.set({ key: j }),
  });
  const total = sum(terms);
  const most = largest(terms);
  const key = tokenInRole(trace.keys.tokens, most, "k");
  const vars = { query: value(queryName(trace, query), "q"), d, value: value(significant(total)) };
  drawSays(
    parts,
    phrase(off ? "inspector.says_z_off" : "inspector.says_z", { ...vars, key, part: value(signed(terms[most], 3)) }),
  );
  drawKeyFigures(parts, [
    [t(off ? "inspector.figure_z_off" : "inspector.figure_z", { d }), significant(total)],
    [[t("inspector.figure_from"), " ", key.cloneNode(true)], signed(terms[most], 3)],
    [t("inspector.figure_others"), signed(total - terms[most], 3)],
  ]);
  drawSentence(
    parts.steps.sum,
    "inspector.z_sum",
    { value: value(significant(total)) },
    off ? h("span", { class: "check" }, t("card.z_off")) : checkOf(total, rowIn(z, query)[d]),
  );
}
