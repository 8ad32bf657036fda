/** What the matrix shows at each step: QKᵀ, the scores, the scores under the mask. The weights have ../query_key.js. */

import { cssColour } from "../../chart/colour.js";
import { rowTones, weightScale } from "../../chart/matrix/scale.js";
import { number, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { dots, once } from "../computation/matrices.js";
import { reasonOf } from "../query_key.js";
import { tints } from "./tints.js";

/** @typedef {import("../../data/model_trace.js").Detail} Detail  @typedef {import("../../data/model_trace.js").Matrix} Matrix */

/** Scores compare within their row only: so do their colours. @param {Matrix} scores @param {Matrix["data"]|null} forbidden */
const relative = (scores, forbidden) => ({
  scale: {
    ...weightScale(),
    ends: /** @type {[string, string]} */ ([t("attention.row_low"), t("attention.row_high")]),
  },
  tones: once(forbidden ? { data: forbidden } : scores, "tones", () => rowTones(scores.data, scores.shape, forbidden)),
});

const cellText =
  (/** @type {Matrix} */ { shape }) =>
  (value) =>
    number(value, shape[1] <= 10 ? 2 : 1);

/** @param {Detail} detail */
function qk(detail) {
  const all = dots(detail);
  const at = (row, col) => significant(all.data[row * all.shape[1] + col], 5);
  return {
    ...{ id: "qk", title: "QKᵀ", values: all.data, ...relative(all, null), cellText: cellText(all) },
    words: (row, col) => ["matrix.dot", { value: at(row, col) }],
  };
}

/** @param {Detail} detail */
function scaled({ scores, mask }) {
  const at = (row, col) => row * scores.shape[1] + col;
  return {
    ...{ id: "scores", title: t("matrix.scores"), values: scores.data, ...relative(scores, null) },
    cellText: cellText(scores),
    words(row, col) {
      const value = significant(scores.data[at(row, col)], 5);
      const reasons = mask?.data[at(row, col)];
      return reasons ? ["matrix.score_masked", { value, reason: reasonOf(reasons) }] : ["matrix.score", { value }];
    },
  };
}

/** S + M; M alone where a mechanism has no scores. @param {Detail} detail */
function masked({ scores, mask }) {
  const added = once(mask, "added", () => sumOf(scores, mask));
  const at = (row, col) => row * mask.shape[1] + col;
  const reasons = mask.data.some(Boolean) ? mask.data : null;
  return {
    ...{ id: "masked", title: t(scores ? "matrix.masked" : "matrix.mask"), values: added.data },
    ...{ forbidden: reasons, reasons, tints: tints(), onHatching: { text: "−∞", ink: cssColour("--ink-2") } },
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

/** One colour: every allowed cell adds 0. */
function allowedAlone() {
  const one = cssColour("--accent-soft");
  return { scale: { stops: [one, one], min: 0, max: 1, seen: [0, 0] }, cellText: () => "0", ink: cssColour("--ink-2") };
}

export const SQUARES = { qk, scaled, masked };
