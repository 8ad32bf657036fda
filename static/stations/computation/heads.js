/** Splitting into heads: Q, K and V are split into columns, and the results of the heads are concatenated again. */

import { headIn } from "../../model/description.js";
import { cellIn } from "../../model/matrix.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mn, mo, mtext } from "../../ui/mathml.js";
import { ofHead, projected } from "./letters.js";
import { headOf, joined } from "./matrices.js";
import { stacked } from "./product.js";
import { tapIn } from "./taps.js";

/** @import { Arithmetic, Mat, Picture } from "./product.js" */

const QKV = /** @type {const} */ (["q", "k", "v"]);

/** The index of the first column that the open head has of Q, K or V. */
const first = ({ attention }, name, head) => headIn(attention, name, head) * attention.d_head;

/** Q, K, V of all heads, and below each the open head's columns. */
export const heads = {
  formula(step, { head }) {
    const columns = (name) => [
      mtext("["),
      mo(":"),
      mo(","),
      mn(first(step, name, head)),
      mo("…"),
      mn(first(step, name, head) + step.attention.d_head - 1),
      mtext("]"),
    ];
    const one = (name) => [projected(name, head), mo("="), projected(name), columns(name)];
    return ["q", "k", "v"].map((name) => math(one(name)));
  },
  picture({ trace, step, head, queries, keys }) {
    const mats = QKV.flatMap((name) => {
      const tensor = trace.tensor(tapIn(step, name));
      const from = first(step, name, head);
      /** @type {Pick<Mat, "whose"|"rows">} */
      const rows = name === "q" ? { whose: "query", rows: queries } : { whose: "key", rows: keys };
      const lit = (before) => (row, col) => ({ row: name === "q" ? row : undefined, col: before + col });
      /** @type {Mat} */
      const whole = {
        id: name,
        op: "",
        name: () => projected(name),
        matrix: joined(tensor),
        band: [from, from + step.attention.d_head],
        lit: lit(from),
      };
      /** @type {Mat} */
      const one = {
        id: `${name}_head`,
        op: "→",
        name: () => projected(name, head),
        matrix: headOf(tensor, headIn(step.attention, name, head)),
        lit: lit(0),
      };
      return [
        { ...whole, ...rows, role: name },
        { ...one, ...rows, role: name },
      ];
    });
    return stacked(mats, { layout: "pairs", result: mats[1] });
  },
  /**
   * @param {any} context @param {Picture} picture @param {number} at_ @param {number} col
   * @returns {Arithmetic}
   */
  explain({ head }, { mats: [whole, one] }, at_, col) {
    const d = one.matrix.shape[1];
    const value = cellIn(whole.matrix, at_, head * d + col);
    return {
      terms: null,
      lines: [["computation.line.column", { col, head, d, from: head * d + col }, value]],
      total: value,
      own: null,
      tap: null,
      note: "computation.moved",
    };
  },
};

/** Z: the heads side by side. */
export const concat = {
  formula: ({ attention }) =>
    math(
      mi("Z"),
      mo("="),
      mi("Concat"),
      mtext("("),
      ofHead("Z", 0),
      mo(", …,"),
      ofHead("Z", attention.n_head - 1),
      mtext(")"),
    ),
  picture({ trace, step, head, queries }) {
    const tensor = trace.tensor(tapIn(step, "z"));
    const [n, , d] = tensor.shape;
    const one = { whose: "query", rows: queries };
    const inside = (at_, col) => (Math.floor(col / d) === head ? { row: at_, col: col % d } : {});
    const mats = [
      { ...one, id: "a", op: "", name: () => ofHead("Z", head), matrix: headOf(tensor, head), lit: inside },
      {
        ...one,
        id: "c",
        op: t("computation.op_heads", { n }),
        name: () => mi("Z"),
        matrix: joined(tensor),
        band: [head * d, (head + 1) * d],
        lit: (row, col) => ({ row, col }),
      },
    ];
    return stacked(mats);
  },
  /** @returns {Arithmetic} */
  explain({ step }, { result }, query, col) {
    const d = step.attention.d_head;
    const value = cellIn(result.matrix, query, col);
    return {
      terms: null,
      lines: [["computation.line.head", { col, head: Math.floor(col / d), d: col % d }, value]],
      total: value,
      own: null,
      tap: null,
      note: "computation.moved",
    };
  },
};
