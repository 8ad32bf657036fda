/** A role without a step of its own: one head of it, and its equation, if its mechanism gives one. */

import { hidesBlocks, identityOf } from "../../model/description.js";
import { elementOf, headOf } from "../../model/identities.js";
import { cellIn } from "../../model/matrix.js";
import { t } from "../../ui/i18n.js";
import { formulaOf, letterOf, roleName } from "../role_formulas.js";
import { stacked } from "./product.js";
import { roleOf } from "./steps.js";
import { namesOf, tapIn } from "./taps.js";

/**
 * @import { Identity } from "../../model/description.js"
 * @import { Arithmetic } from "./product.js"
 */

const crossed = ({ attention }, role) => attention.roles[role].dims.endsWith("query key");
const isKeys = ({ attention }, role) => ["k", "v"].includes(role) || /\bkey d_/.test(attention.roles[role].dims);

/** What the mask leaves out of a role is hatched; the mask itself is shown. */
function forbiddenOf({ detail }, name) {
  const hidden = WEIGHTED.has(name) && detail?.mask?.data.some(Boolean);
  return hidden ? { forbidden: detail.mask.data } : {};
}
const WEIGHTED = new Set(["mean_weights", "weights"]);

/** @param {string} name @param {number} value @returns {Arithmetic["lines"][number]} */
const lineOf = (name, value) => ["computation.line.role", { name }, value];

/**
 * The factors of one product, by name; of a norm, what was divided, and the gain.
 * @param {Identity} identity @param {any} attention @param {number[]} of
 * @returns {Arithmetic["lines"]}
 */
function factorsOf(identity, { norm_eps: eps }, of) {
  if (identity.op !== "rms_norm") return of.map((one, i) => lineOf(roleName(identity.of[i]), one));
  return [
    ["computation.line.rms", { eps }, of[0]],
    ["computation.line.gain", {}, of[1]],
  ];
}

/** What a term is called: a summand by its role, what is summed over the keys by its token, anything else by its index. */
function labelOf({ op, of }, keys) {
  if (op === "sum" || op === "quotient") return (i) => roleName(of[i]);
  return OVER_KEYS.has(op) ? (i) => `${keys[i]} ${i}` : String;
}
const OVER_KEYS = new Set(["weighted_sum", "weighted_rows", "feature_sum", "masked_softmax", "feature_softmax"]);

/** One head of a role; a number for each token is a column. */
function headIn(trace, step, name, head) {
  const { n_head, roles } = step.attention;
  const { shape, data } = headOf(trace.tensor(tapIn(step, name)), head, n_head, roles[name].dims);
  return { shape: shape.length === 1 ? [shape[0], 1] : shape, data };
}

export const role = {
  note: (step) =>
    hidesBlocks(step.stack) && tapIn(step, roleOf(step)) === step.sublayer.writes.tap ? t("computation.hidden") : null,
  formula: (step) => formulaOf(identityOf(step.attention, roleOf(step)), roleOf(step), step.attention),
  picture({ trace, step, head, queries, keys }) {
    const name = roleOf(step);
    const matrix = headIn(trace, step, name, head);
    const shared = crossed(step, name);
    const whose = isKeys(step, name) ? "key" : "query";
    const mat = {
      id: "c",
      op: "",
      name: () => letterOf(name),
      matrix,
      whose,
      rows: whose === "key" ? keys : queries,
      lit: (row, col) => ({ row, col }),
      ...(shared ? { cols: keys, ...forbiddenOf(trace, name) } : {}),
      ...(step.attention.overview === name ? { ramp: "weights" } : {}),
    };
    return stacked([mat], { rows: whose, cols: shared ? "key" : "feature" });
  },
  /** @returns {Arithmetic} */
  explain({ trace, step, head, keys }, { result }, row, col) {
    const names = namesOf(step);
    const identity = identityOf(step.attention, roleOf(step));
    const tensorOf = (one) => names[one] && trace[names[one][0]](names[one][1]);
    const own = cellIn(result.matrix, row, col);
    const element = identity && elementOf(identity, tensorOf, step.attention, { head, row, col });
    if (!element) return { terms: null, lines: [], total: own, own: null, tap: null, note: "computation.as_is" };
    const { a, b, values, total } = element;
    const isOne = values.length === 1; // its factors as lines: there is nothing to compare
    const factors = factorsOf(identity, step.attention, b ? [a[0], b[0]] : [a[0]]);
    return {
      terms: isOne ? null : { a, b, values, label: labelOf(identity, keys) },
      lines: isOne ? factors : [],
      total,
      own,
      tap: tapIn(step, roleOf(step)),
    };
  },
};
