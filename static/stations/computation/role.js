/** A role without a step of its own: one head of it, and its equation, if its mechanism gives one. */

import { identityOf } from "../../model/description.js";
import { elementOf, headOf } from "../../model/identities.js";
import { cellIn } from "../../model/matrix.js";
import { math, mi, mo, mtext, row } from "../../ui/mathml.js";
import { stacked } from "./product.js";
import { roleOf } from "./steps.js";
import { namesOf, tapIn } from "./taps.js";

const crossed = ({ attention }, role) => attention.roles[role].dims.endsWith("query key");
const isKeys = ({ attention }, role) => ["k", "v"].includes(role) || /\bkey d_/.test(attention.roles[role].dims);

export const role = {
  formula(step) {
    const name = roleOf(step);
    const identity = identityOf(step.attention, name);
    if (!identity) return math(mi(name));
    const of = identity.of.flatMap((one, i) => [i > 0 && mo(","), mi(one)]).filter(Boolean);
    return math(mi(name), mo("="), mi(identity.op), row(mtext("("), ...of, mtext(")")));
  },
  picture({ trace, step, head, queries, keys }) {
    const name = roleOf(step);
    const matrix = headOf(trace.tensor(tapIn(step, name)), head, step.attention.n_head);
    const whose = isKeys(step, name) ? "key" : "query";
    const mat = {
      ...{
        id: "c",
        op: "",
        name: () => mi(name),
        matrix,
        whose,
        rows: whose === "key" ? keys : queries,
        lit: (row, col) => ({ row, col }),
      },
      ...(crossed(step, name) ? { cols: keys } : {}),
      ...(step.attention.overview === name ? { ramp: "weights" } : {}),
    };
    return stacked([mat], { rows: whose, cols: crossed(step, name) ? "key" : "feature" });
  },
  /** @returns {import("./product.js").Arithmetic} */
  explain({ trace, step, head }, { result }, row, col) {
    const names = namesOf(step);
    const identity = identityOf(step.attention, roleOf(step));
    const tensorOf = (one) => names[one] && trace[names[one][0]](names[one][1]);
    const own = cellIn(result.matrix, row, col);
    const element = identity && elementOf(identity, tensorOf, step.attention, { head, row, col });
    if (!element) return { terms: null, lines: [], total: own, own: null, tap: null, note: "computation.as_is" };
    const { a, b, values, total } = element;
    return { terms: { a, b, values, label: String }, lines: [], total, own, tap: tapIn(step, roleOf(step)) };
  },
};
