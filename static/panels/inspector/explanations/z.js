/** The arithmetic of one element of z = A·V: what each key contributes in one dimension, and the sum. */

import { drawTermBars } from "../../../chart/bars/bars.js";
import { tokenName } from "../../../model/labels.js";
import { headIn, largest, rowIn, sum } from "../../../model/matrix.js";
import { elementOf, termsOf, valued } from "../../../stations/av/data.js";
import { checkOf, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { at, buildExplanation, drawFigures, drawLine, drawSays, drawTitle, named, value } from "./parts.js";

const partsOf = buildExplanation(["terms", "sum"]);

export function draw(root, trace, state, actions) {
  const parts = partsOf(root);
  const z = headIn(trace.role("z", state.layer), state.head);
  const { query, dimension: d } = elementOf(state, trace, z);
  const { weights, column, terms } = termsOf(valued(trace, query), query, d);
  drawTitle(
    parts,
    "inspector.title_z",
    phrase("inspector.z_of", { query: named(trace.queries.tokens[query], "q"), i: at(query), d: value(String(d)) }),
  );
  drawLine(parts.steps.terms, "inspector.z_terms", { n: terms.length, a: value("a"), v: value("v", "v") });
  drawTermBars(parts.steps.terms.more, {
    terms,
    label: t("inspector.z_label", { d, n: terms.length }),
    words: (j) =>
      t("inspector.z_term", {
        key: tokenName(trace.keys.tokens[j]),
        j,
        a: significant(weights[j]),
        v: signed(column[j], 3),
        value: signed(terms[j], 3),
      }),
    onChoose: (j) => actions.set({ key: j }),
  });
  const total = sum(terms);
  const most = largest(terms);
  const key = named(trace.keys.tokens[most], "k");
  const vars = { query: named(trace.queries.tokens[query], "q"), d, value: value(significant(total)) };
  drawSays(parts, state, phrase("inspector.says_z", { ...vars, key, part: value(signed(terms[most], 3)) }));
  drawFigures(parts, [
    [t("inspector.figure_z", { d }), significant(total)],
    [[t("inspector.figure_from"), " ", key.cloneNode(true)], signed(terms[most], 3)],
    [t("inspector.figure_others"), signed(total - terms[most], 3)],
  ]);
  drawLine(
    parts.steps.sum,
    "inspector.z_sum",
    { value: value(significant(total)) },
    checkOf(total, rowIn(z, query)[d]),
  );
}
