/** The residual stream: where it begins, and what is added. */

import { cellIn } from "../../model/matrix.js";
import { math, mi, mn, mo, mtext, row, sqrt, sub } from "../../ui/mathml.js";
import { scalingWords } from "../embedding/scaling.js";
import { crosses, sumOf } from "./context.js";
import { normed, stream, written } from "./letters.js";
import { mapped } from "./matrices.js";

const both = (row, col) => ({ row, col });
/** Matrices with the same rows, the last of which is made from the others. */
export const stacked = (mats) => ({ layout: "stack", mats, result: mats.at(-1), rows: "query", cols: "feature" });
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

/** √d_model, where the model multiplies its embeddings with it. */
const factor = (model) => (model.scale_embeddings ? Math.sqrt(model.d_model) : 1);

export const embed = {
  why: "weight",
  note: scalingWords,
  needs: ({ prefix }) => [
    `tensor:${prefix}embedding`,
    `tensor:${prefix}positional`,
    `tensor:${prefix}layers.0.resid_pre`,
  ],
  formula(step, { model }) {
    const scaled = model.scale_embeddings ? [sqrt(sub(mi("d"), mi("model"))), mo("·")] : [];
    return math(
      mi("X"),
      mo("="),
      ...scaled,
      mi("E"),
      row(mtext("["), mi("id"), mtext("]")),
      mo("+"),
      mi("P"),
      row(mtext("["), mi("pos"), mtext("]")),
    );
  },
  picture({ trace, model, step: { prefix }, queries }) {
    const times = factor(model);
    const rows = mapped(trace.tensor(`${prefix}embedding`), "unscaled", (value) => value / times);
    const scaled =
      times === 1
        ? []
        : [
            mat(
              "scaled",
              "·√d =",
              () => row(sqrt(sub(mi("d"), mi("model"))), mi("E"), mtext("["), mi("id"), mtext("]")),
              trace.tensor(`${prefix}embedding`),
              queries,
            ),
          ];
    return stacked([
      mat("e", "", () => row(mi("E"), mtext("["), mi("id"), mtext("]")), rows, queries, { learned: true }),
      ...scaled,
      mat(
        "p",
        "+",
        () => row(mi("P"), mtext("["), mi("pos"), mtext("]")),
        trace.tensor(`${prefix}positional`),
        queries,
        { learned: model.position === "learned" },
      ),
      mat("x", "=", () => mi("X"), trace.tensor(`${prefix}layers.0.resid_pre`), queries),
    ]);
  },
  explain({ trace, model, step: { prefix } }, { mats, result }, query, col) {
    const [e, p] = [cellIn(mats[0].matrix, query, col), cellIn(trace.tensor(`${prefix}positional`), query, col)];
    const { tokens, positionIds } = trace.queries;
    const scaled = model.scale_embeddings ? [["computation.line.scaled", { d: model.d_model }, e * factor(model)]] : [];
    const lines = [
      [
        model.scale_embeddings ? "computation.line.unscaled" : "computation.line.embedding",
        { id: tokens[query].id, col },
        e,
      ],
      ...scaled,
      ["computation.line.position", { pos: positionIds[query], col }, p],
    ];
    return {
      terms: null,
      lines,
      total: e * factor(model) + p,
      own: cellIn(result.matrix, query, col),
      tap: `${prefix}layers.0.resid_pre`,
    };
  },
};

/** Blocks that the walk does not enter: the stream before and behind them. */
function skipped(from, to, of) {
  return {
    why: "weight",
    needs: (step, model) => [`tensor:${from(step, model)}`, `tensor:${to(step, model)}`],
    formula(step, { model }) {
      const { first, last } = of(step, model);
      const block = (layer) => sub(mi("Block"), mn(layer));
      const inside = first === last ? [block(first)] : [block(last), mo("∘"), mo("…"), mo("∘"), block(first)];
      return math(mi("X"), mo("←"), ...inside, row(mtext("("), mi("X"), mtext(")")));
    },
    picture({ trace, model, step, queries }) {
      const named = (layer) => () => sub(mi("X"), mn(layer));
      const { first, last } = of(step, model);
      return stacked([
        mat("a", "", named(first), trace.tensor(from(step, model)), queries),
        mat("c", "→", named(last + 1), trace.tensor(to(step, model)), queries),
      ]);
    },
    explain({ model, step }, { mats: [a, c] }, query, col) {
      const { first, last } = of(step, model);
      const [was, is] = [cellIn(a.matrix, query, col), cellIn(c.matrix, query, col)];
      const lines = [
        ["computation.line.before", { layer: first }, was],
        ["computation.line.change", { first, last, n: last - first + 1 }, is - was],
      ];
      return { terms: null, lines, total: is, own: null, tap: null, note: "computation.skipped" };
    },
    /** The walk through a neighbouring block. */
    leads: (step, model) => of(step, model).leads,
  };
}

export const before = skipped(
  ({ prefix }) => `${prefix}layers.0.resid_pre`,
  ({ prefix, layer }) => `${prefix}layers.${layer}.resid_pre`,
  ({ layer }) => ({ first: 0, last: layer - 1, leads: layer - 1 }),
);

export const rest = skipped(
  ({ prefix, layer }) => `${prefix}layers.${layer}.resid_post`,
  ({ prefix }, model) => `${prefix}layers.${model.n_layer - 1}.resid_post`,
  ({ layer }, model) => ({ first: layer + 1, last: model.n_layer - 1, leads: layer + 1 }),
);

/** @returns {() => Node} */
export const streamName = (tap, model, step) => () => stream(tap, crosses(model, step));
export const sumName = (model, step) => () =>
  row(stream(step.sublayer.before, crosses(model, step)), mo("+"), written(step.sublayer.kind));
const addedName =
  (model, { sublayer }) =>
  () =>
    model.norm_order === "res-post" ? normed(written(sublayer.kind)) : written(sublayer.kind);

export const residual = {
  why: "weight",
  needs: ({ sublayer }, model) => Object.values(sumOf(model, sublayer)).map((tap) => `tensor:${tap}`),
  formula(step, { model }) {
    const { before: x, after } = step.sublayer;
    const sum_ = [streamName(x, model, step)(), mo("+"), addedName(model, step)()];
    return model.norm_order === "post" ? math(...sum_) : math(streamName(after, model, step)(), mo("="), ...sum_);
  },
  picture({ trace, model, step, queries }) {
    const taps = sumOf(model, step.sublayer);
    const result = model.norm_order === "post" ? sumName(model, step) : streamName(step.sublayer.after, model, step);
    return stacked([
      mat("a", "", streamName(step.sublayer.before, model, step), trace.tensor(taps.before), queries),
      mat("b", "+", addedName(model, step), trace.tensor(taps.added), queries),
      mat("c", "=", result, trace.tensor(taps.sum), queries, { compound: model.norm_order === "post" }),
    ]);
  },
  explain({ model, step }, { mats: [a, b, c] }, query, col) {
    const [x, y] = [cellIn(a.matrix, query, col), cellIn(b.matrix, query, col)];
    const lines = [
      ["computation.line.stream", {}, x],
      ["computation.line.added", {}, y],
    ];
    return {
      terms: null,
      lines,
      total: x + y,
      own: cellIn(c.matrix, query, col),
      tap: sumOf(model, step.sublayer).sum,
    };
  },
};
