/**
 * What the matrix shows at each step: QKᵀ, the scores and their parts, what position adds, the scores under the mask, one
 * feature's weights. The weights have ../query_key.js.
 */

import { paleScale, rowTones, signedScale, weightScale } from "../../chart/matrix/scale.js";
import { cssColour, currentTheme } from "../../chart/theme.js";
import { isDifference } from "../../model/compare/runs.js";
import { headOf } from "../../model/identities.js";
import { reasonNames } from "../../model/mask_edits.js";
import { cellIn, largest } from "../../model/matrix.js";
import { featureOf } from "../../model/selection.js";
import { biasRole, sliceOf } from "../../model/weight_arithmetic.js";
import { h } from "../../ui/dom.js";
import { cellWeight, number, signed, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { cachedMatrix, dots } from "../computation/matrices.js";
import { roleName } from "../formulas.js";
import { reasonOf } from "../query_key.js";

/**
 * @import { Detail, HeadTrace, Matrix } from "../../data/model_trace.js"
 * @import { Attention } from "../../model/description.js"
 * @import { State } from "../../state/store.js"
 * @import { Reason } from "../../model/mask_edits.js"
 * @import { Square } from "../query_key.js"
 */

// The reasons of a mask as colours over the hatching, and their legend.

/** The colour of each reason; of two, the last one's is shown. The causal mask is hatching without a colour. @type {Record<Reason, string|null>} */
const TINTS = { causal: null, padding: "--warn", window: "--k", edited: "--q" };

/** Two reasons are darker than one. @param {number} reasons */
function tintOf(reasons) {
  const names = reasonNames(reasons);
  const tint = names.map((name) => TINTS[name]).findLast(Boolean);
  return tint ? `${cssColour(tint)}${names.length > 1 ? "8c" : "40"}` : `${cssColour("--panel")}00`;
}

/** By set of reasons. @returns {string[]} "#rrggbbaa" */
const tints = () => Array.from({ length: 16 }, (_, reasons) => tintOf(reasons));

/** Each set of reasons that occurs, with what it adds to a score. @param {Uint8Array} mask */
export function reasonsLegend(mask) {
  const sets = [...new Set(mask)].filter(Boolean).sort((a, b) => a - b);
  const words = (/** @type {number} */ set) =>
    reasonNames(set)
      .map((name) => t(`matrix.mask.${name}`))
      .join(" + ");
  return sets.map((set) => [
    h("span", { class: "swatch", style: { "background-color": tintOf(set) } }),
    h("span", null, words(set), " ", h("b", { class: "mono" }, "+ −∞")),
  ]);
}

/** Scores compare within their row only: so do their colours. @param {Matrix} scores @param {Matrix["data"]|null} forbidden */
const relative = (scores, forbidden) => ({
  scale: {
    ...weightScale(),
    ends: /** @type {[string, string]} */ ([t("attention.row_low"), t("attention.row_high")]),
  },
  tones: cachedMatrix(forbidden ? { data: forbidden } : scores, "tones", () =>
    rowTones(scores.data, scores.shape, forbidden),
  ),
});

/** @param {Matrix} matrix @returns {(value: number) => string} */
const cellText =
  ({ shape }) =>
  (value) =>
    number(value, shape[1] <= 10 ? 2 : 1);

/** @param {Detail} detail @returns {Square} */
function qk(detail) {
  const all = dots(detail);
  const at = (/** @type {number} */ row, /** @type {number} */ col) =>
    significant(all.data[row * all.shape[1] + col], 5);
  return {
    id: "qk",
    title: "QKᵀ",
    values: all.data,
    ...relative(all, null),
    cellText: cellText(all),
    words: (row, col) => ["matrix.dot", { value: at(row, col) }],
  };
}

/** The products, and the scores that a bound makes of them. @param {Detail} detail @param {"scores"|"uncapped_scores"} [role] @returns {Square} */
function scaled(detail, role = "scores") {
  const [scores, mask] = [/** @type {any} */ (detail)[role], detail.mask];
  const at = (/** @type {number} */ row, /** @type {number} */ col) => row * scores.shape[1] + col;
  return {
    id: role,
    title: role === "scores" ? t("matrix.scores") : roleName(role),
    values: scores.data,
    ...relative(scores, null),
    cellText: cellText(scores),
    words(row, col) {
      const value = significant(scores.data[at(row, col)], 5);
      if (role !== "scores")
        return ["attention.cell.uncapped_scores", { value, score: significant(detail.scores.data[at(row, col)], 5) }];
      const reasons = mask?.data[at(row, col)];
      return reasons ? ["matrix.score_masked", { value, reason: reasonOf(reasons) }] : ["matrix.score", { value }];
    },
  };
}

/** S + M; M alone where a mechanism has no scores. @param {Detail} detail @returns {Square} */
function masked({ scores, mask }) {
  const added = cachedMatrix(mask, "added", () => sumOf(scores, mask));
  const at = (/** @type {number} */ row, /** @type {number} */ col) => row * mask.shape[1] + col;
  const reasons = mask.data.some(Boolean) ? mask.data : null;
  return {
    id: "masked",
    title: t(scores ? "matrix.masked" : "matrix.mask"),
    values: added.data,
    forbidden: reasons,
    reasons,
    tints: tints(),
    onHatching: { text: "−∞", ink: cssColour("--ink-2") },
    ...(scores ? { ...relative(added, mask.data), cellText: cellText(added) } : allowedAlone()),
    words(row, col) {
      const why = mask.data[at(row, col)];
      if (why) return ["matrix.mask_forbidden", { value: "−∞", reason: reasonOf(why) }];
      if (!scores) return ["matrix.mask_allowed", { value: "0" }];
      return ["matrix.masked_allowed", { value: significant(added.data[at(row, col)], 5) }];
    },
  };
}

/** @param {Matrix|undefined} scores @param {Matrix} mask @returns {Matrix} */
const sumOf = (scores, mask) => ({
  shape: mask.shape,
  data: Float32Array.from(mask.data, (reasons, at) => (reasons ? -Infinity : (scores?.data[at] ?? 0))),
});

/** One colour: every allowed cell adds 0. @returns {Pick<Square, "scale"|"cellText"|"ink">} */
function allowedAlone() {
  const one = cssColour("--accent-soft");
  return { scale: { stops: [one, one], min: 0, max: 1, seen: [0, 0] }, cellText: () => "0", ink: cssColour("--ink-2") };
}

/**
 * One summand of the scores. All have the same scale, so that their colours can be compared.
 * @param {(attention: Attention) => string} named @returns {(trace: any) => Square}
 */
const part = (named) => (trace) => {
  const [role, mask] = [named(trace.attention), trace.detail.mask];
  const own = trace.detail[role];
  const all = trace.attention.parts.scores.map((/** @type {string} */ one) => trace.detail[one].data);
  const reach = cachedMatrix(own, "reach", () => furthest(...all));
  /** @type {Square["words"]} */
  const words = (row, col) => {
    const at = row * own.shape[1] + col;
    const [value, score] = [own, trace.detail.scores].map(({ data }) => significant(data[at], 5));
    const reason = mask.data[at];
    return [
      reason ? `attention.cell.${role}_masked` : `attention.cell.${role}`,
      { value, score, reason: reasonOf(reason) },
    ];
  };
  const scale = cachedMatrix(own, `scale ${currentTheme()}`, () => signedScale(own.data, "signed", reach));
  return { id: role, title: roleName(role), values: own.data, scale, cellText: cellText(own), words };
};

/** What position adds, with the edge of the window within which it does. @param {HeadTrace} trace @returns {Square} */
function bias(trace) {
  const { attention, detail } = trace;
  const dims = attention.roles.position_bias.dims;
  const own = headOf(trace.role("position_bias", detail.layer), detail.head, attention.n_head, dims);
  const scale = cachedMatrix(own, `scale ${currentTheme()}`, () => signedScale(own.data));
  return {
    id: "position_bias",
    title: roleName("position_bias"),
    values: own.data,
    scale,
    cellText: cellText(own),
    outside: cachedMatrix(own, "outside", () => Uint8Array.from(own.data, (w) => (w === 0 ? 1 : 0))),
    words: (row, col) => ["attention.cell.position_bias", { value: significant(cellIn(own, row, col), 5) }],
  };
}

/** The weights of the chosen feature. @param {HeadTrace} trace @param {State} state @returns {Square} */
function feature(trace, state) {
  const { attention, detail } = trace;
  const f = featureOf(state, attention);
  const all = headOf(trace.role("weights", detail.layer), detail.head, attention.n_head);
  const own = cachedMatrix(all, `feature ${f}`, () => sliceOf(all, f));
  const { mask } = detail;
  return {
    id: "feature",
    title: t("feature.title", { f }),
    values: own.data,
    scale: weightScale(),
    cellText: cellWeight,
    forbidden: mask.data.some(Boolean) ? mask.data : null,
    reasons: mask.data,
    words(row, col) {
      const reasons = cellIn(mask, row, col);
      if (reasons) return ["matrix.forbidden", { reason: reasonOf(reasons) }];
      return ["matrix.weight", { value: significant(cellIn(own, row, col)) }];
    },
  };
}

/** The largest absolute value in any of these. @param {...ArrayLike<number>} all */
const furthest = (...all) => Math.max(...all.map((data) => Math.abs(data[largest(data)])));

/** Steps whose numbers no mask changes, or of which only one run is here. */
const ALONE = ["bias", "feature"];

/**
 * after − before at a step, or its pale numbers where none changed; null: one run is shown, or the other one has other cells.
 * @param {string} step @param {HeadTrace} trace @param {State} state @returns {Square & {same: boolean}|null}
 */
export function changedSquare(step, trace, state) {
  const { detail, comparedDetail: was } = trace;
  if (!isDifference(state) || ALONE.includes(step) || was?.mask?.data.length !== detail.mask.data.length) return null;
  const of = (/** @type {Detail} */ one) => SQUARES[step]({ ...trace, detail: one }, state);
  const [after, before] = [of(detail), of(was)];
  const cols = detail.mask.shape[1];
  const reasons = step === "masked" ? detail.mask.data.map((one, at) => one && was.mask.data[at] && one) : null;
  const forbidden = reasons?.some(Boolean) ? reasons : null;
  const values = Float32Array.from(after.values, (now, at) =>
    now === before.values[at] ? 0 : now - before.values[at],
  );
  const finite = values.filter((value) => Number.isFinite(value));
  const alone = { ...after, tones: after.tones, forbidden, reasons: forbidden ?? undefined };
  if (values.every((value) => Math.abs(value) < SAME))
    return {
      ...alone,
      same: true,
      scale: paleScale(after.scale),
      faint: { below: Infinity, ink: cssColour("--ink-2") },
    };
  return {
    ...{ ...alone, id: `${after.id}-difference`, title: t("compare.step_difference", { what: after.title }) },
    // A cell that one run hides has no colour: no number is as large.
    ...{
      tones: values.map((value) => (Number.isFinite(value) ? value : 0)),
      same: false,
      values,
      ink: undefined,
      scale: signedScale(finite, "signed", LEAST),
    },
    cellText: (value) => (Math.abs(value) < UNCHANGED ? "" : gapText(value, cols <= 10 ? 2 : 1)),
    words(row, col) {
      const at = row * cols + col;
      if (forbidden?.[at]) return ["matrix.forbidden", { reason: t("compare.same_run") }];
      const [was, is] = [before, after].map((one) => infinite(one.values[at]) ?? significant(one.values[at], 5));
      return ["compare.cell", { value: gapText(values[at], 4), was, is }];
    },
  };
}

/** Smaller differences are rounding; and the least that may have full colour. */
const [SAME, LEAST] = [1e-4, 0.01];
/** A smaller one is not written. */
const UNCHANGED = 0.05;

/** −∞ and +∞: hidden in one run only. @param {number} value */
const infinite = (value) => (Number.isFinite(value) ? null : `${value < 0 ? "−" : "+"}∞`);
/** @param {number} value @param {number} digits */
const gapText = (value, digits) => infinite(value) ?? signed(value, digits);

/** By step, of a trace and a state. @type {Record<string, (trace: HeadTrace, state: State) => Square>} */
export const SQUARES = {
  content: part(() => "content_scores"),
  distance: part(() => "relative_scores"),
  added: part((attention) => String(biasRole(attention))),
  bias,
  feature,
  qk: ({ detail }) => qk(detail),
  uncapped: ({ detail }) => scaled(detail, "uncapped_scores"),
  scaled: ({ detail }) => scaled(detail),
  masked: ({ detail }) => masked(detail),
};
