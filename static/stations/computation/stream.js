/** The residual stream: what a sublayer adds to it, and the blocks that the walk skips. */

import { cellIn, sum } from "../../model/matrix.js";
import { t } from "../../ui/i18n.js";
import { math, mi, mn, mo, mtext, row, sub } from "../../ui/mathml.js";
import { depthOf } from "./context.js";
import { normed, stream, written } from "./letters.js";
import { stacked } from "./product.js";
import { SKIPPED, sumOf } from "./taps.js";

/** @import { Arithmetic, Picture } from "./product.js" */

const both = (row, col) => ({ row, col });
export const mat = (id, op, name, matrix, queries, more = {}) => ({
  id,
  op,
  name,
  matrix,
  whose: "query",
  rows: queries,
  lit: both,
  ...more,
});

/** The blocks that the walk skips: the stream before and after them. */
function skipped(kind, of) {
  return {
    formula(step) {
      const { first, last } = of(step);
      const block = (layer) => sub(mi("Block"), mn(layer));
      const inside = first === last ? [block(first)] : [block(last), mo("∘"), mo("…"), mo("∘"), block(first)];
      return math(mi("X"), mo("←"), ...inside, row(mtext("("), mi("X"), mtext(")")));
    },
    picture({ trace, step, queries }) {
      const named = (layer) => () => sub(mi("X"), mn(layer));
      const { first, last } = of(step);
      const { from, to } = SKIPPED[kind](step);
      return stacked([
        mat("a", "", named(first), trace.tensor(from), queries),
        mat("c", "→", named(last + 1), trace.tensor(to), queries),
      ]);
    },
    /**
     * @param {any} context @param {Picture} picture @param {number} query @param {number} col
     * @returns {Arithmetic}
     */
    explain({ step }, { mats: [a, c] }, query, col) {
      const { first, last } = of(step);
      const [was, is] = [cellIn(a.matrix, query, col), cellIn(c.matrix, query, col)];
      /** @type {Arithmetic["lines"]} */
      const lines = [
        ["computation.line.before", { layer: first }, was],
        ["computation.line.change", { first, last, n: last - first + 1 }, is - was],
      ];
      return { terms: null, lines, total: is, own: null, tap: null, note: "computation.skipped" };
    },
    /** The walk through a neighbouring block. */
    leads: (step) => of(step).leads,
  };
}

export const before = skipped("before", ({ layer }) => ({ first: 0, last: layer - 1, leads: layer - 1 }));
export const rest = skipped("rest", ({ stack, layer }) => ({
  first: layer + 1,
  last: stack.layers.length - 1,
  leads: layer + 1,
}));

/** @returns {() => Node} */
export const streamName = (depth) => () => stream(depth);
export const sumName = (step) => () => row(stream(depthOf(step)), mo("+"), written(step.sublayer.kind));
const addedName =
  ({ sublayer: { kind, norm } }) =>
  () =>
    norm?.place === "res-post" ? normed(written(kind), norm) : written(kind);

const besideName = () => written("attention");

export const residual = {
  note: ({ sublayer, stack, layer }) => {
    if (sublayer.beside) return t("computation.parallel");
    const { scale } = stack.layers[layer];
    return scale && sublayer.kind === "ffn" ? t("computation.rescaled", { scale }) : null;
  },
  formula(step) {
    const depth = depthOf(step);
    const beside = step.sublayer.beside ? [mo("+"), besideName()] : [];
    const sum_ = [stream(depth), ...beside, mo("+"), addedName(step)()];
    return step.sublayer.norm?.place === "post" ? math(...sum_) : math(stream(depth + 1), mo("="), ...sum_);
  },
  picture({ trace, step, queries }) {
    const [taps, depth] = [sumOf(step.sublayer), depthOf(step)];
    const compound = step.sublayer.norm?.place === "post";
    return stacked([
      mat("a", "", streamName(depth), trace.tensor(taps.before), queries),
      ...(taps.beside ? [mat("beside", "+", besideName, trace.tensor(taps.beside), queries)] : []),
      mat("b", "+", addedName(step), trace.tensor(taps.added), queries),
      mat("c", "=", compound ? sumName(step) : streamName(depth + 1), trace.tensor(taps.sum), queries, { compound }),
    ]);
  },
  /**
   * @param {any} context @param {Picture} picture @param {number} query @param {number} col
   * @returns {Arithmetic}
   */
  explain({ step }, { mats }, query, col) {
    const parts = mats.slice(0, -1).map(({ matrix }) => cellIn(matrix, query, col));
    const c = mats[mats.length - 1];
    const names = { a: "stream", beside: "beside", b: "added" };
    /** @type {Arithmetic["lines"]} */
    const lines = parts.map((value, i) => [`computation.line.${names[mats[i].id]}`, {}, value]);
    return {
      terms: null,
      lines,
      total: sum(parts),
      own: cellIn(c.matrix, query, col),
      tap: sumOf(step.sublayer).sum,
    };
  },
};
