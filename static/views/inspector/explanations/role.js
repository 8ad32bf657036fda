/**
 * One element of a role that has no separate explanation: the equation in the mechanism's description, as far as it
 * goes.
 */

import { drawTermBars } from "../../../chart/bars/bars.js";
import { elementOf, headOf } from "../../../model/identities.js";
import { cellIn, largest, rowIn } from "../../../model/matrix.js";
import { position } from "../../../model/selection.js";
import { replace } from "../../../ui/dom.js";
import { checkOf, signed, significant } from "../../../ui/format.js";
import { phrase, t } from "../../../ui/i18n.js";
import { equationOf } from "../../formulas.js";
import {
  at,
  buildExplanation,
  drawSays,
  drawSentence,
  drawTitle,
  roleNames,
  shownRoleOf,
  tokenInRole,
  value,
} from "../parts.js";

/**
 * @import { Element } from "../../../model/identities.js"
 * @import { FetchedDraw } from "../../view.js"
 * @import { Child } from "../../../ui/dom.js"
 * @import { Explained, Step } from "../parts.js"
 */

const elementsOf = buildExplanation(["terms", "sum"]);

/** @type {FetchedDraw} */
export function draw(root, trace, state) {
  const parts = elementsOf(root);
  const names = roleNames(state, trace.model);
  const { attention, role, identity, feature } = shownRoleOf(state, trace.model);
  const tensorOf = (/** @type {string} */ one) => names[one] && trace[names[one][0]](names[one][1]);
  const own = headOf(tensorOf(role), state.head, attention.n_head);
  const { query, key } = position(state, trace);
  const crossed = attention.roles[role].dims.endsWith("query key");
  const asked = feature ?? state.cell?.[1] ?? Infinity;
  const col = crossed ? key : asked < own.shape[1] ? asked : largest(rowIn(own, query));
  const about = { role: value(role), token: tokenInRole(trace.queries.tokens, query, "q"), col: at(col) };
  drawTitle(parts, "inspector.title_role", phrase("inspector.role_of", about));
  const element = identity && elementOf(identity, tensorOf, attention, { head: state.head, row: query, col });
  const number = value(significant(cellIn(own, query, col)));
  drawSays(
    parts,
    phrase("inspector.says_role", {
      role: value(role),
      token: tokenInRole(trace.queries.tokens, query, "q"),
      col,
      value: number,
    }),
  );
  for (const step of Object.values(parts.steps)) step.item.hidden = !element;
  replace(
    parts.note,
    t(element ? "inspector.role_note" : identity ? "inspector.role_unknown" : "inspector.role_none", {
      op: identity?.op ?? "",
    }),
  );
  if (!element) return drawOwn(parts, cellIn(own, query, col));
  drawTerms(parts.steps.terms, equationOf(identity, role, attention), element);
  drawSentence(
    parts.steps.sum,
    "inspector.role_sum",
    { value: value(significant(element.total)) },
    checkOf(element.total, cellIn(own, query, col)),
  );
}

/** Without an equation: only the model's number. @param {Explained} parts @param {number} number */
function drawOwn({ steps }, number) {
  steps.sum.item.hidden = false;
  drawSentence(steps.sum, "inspector.role_own", { value: value(significant(number)) });
}

/** The equation with its terms; a single one needs no picture. @param {Step} step @param {Child} formula @param {Element} element */
function drawTerms({ line, more }, formula, { a, b, values }) {
  more.hidden = values.length === 1;
  if (more.hidden) {
    const product = b ? `${significant(a[0], 3)} × ${significant(b[0], 3)}` : significant(a[0], 4);
    return drawSentence({ line }, "inspector.role_one", { formula, of: value(product) });
  }
  drawSentence({ line }, "inspector.role_terms", { formula, n: values.length });
  drawTermBars(more, {
    terms: values,
    label: t("inspector.role_label", { n: values.length }),
    words: (i) =>
      b
        ? t("computation.term", { i, a: significant(a[i], 3), b: signed(b[i], 3), value: signed(values[i], 4) })
        : t("computation.term_one", { i, value: significant(values[i], 4) }),
  });
}
