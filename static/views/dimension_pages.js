/** A wide matrix, one page of dimensions at a time, so that each dimension has at least one pixel. */

import { drawMatrix } from "../chart/matrix/matrix.js";
import { scaleLegend, signedScale } from "../chart/matrix/scale.js";
import { labelsOf, namesIn } from "../model/labels.js";
import { memo } from "../model/memo.js";
import { position } from "../model/selection.js";
import { h, setText, update } from "../ui/dom.js";
import { number, significant } from "../ui/format.js";
import { headLabel, headParts } from "../ui/heads.js";
import { phrase, t } from "../ui/i18n.js";
import { namedLabel } from "../ui/token_text.js";
import { nameOfPart } from "./parts.js";

/**
 * @import { Scale } from "../chart/matrix/scale.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Part } from "./parts.js"
 * @import { Actions } from "./view.js"
 */

const FEWEST = 32;

/**
 * The number of dimensions per page: all of them if they fit, otherwise a power of two.
 * @param {number} count @param {number} room  of the cells, in pixels
 */
export const pageSize = (count, room) => (count <= room ? count : 2 ** Math.floor(Math.log2(Math.max(FEWEST, room))));

/**
 * Columns `from` … `from + size` of a matrix: the same array each time.
 * @param {{shape: number[], data: any}} matrix @param {number} from @param {number} size @returns {Float32Array}
 */
export const pageOf = ({ shape: [rows, cols], data }, from, size) =>
  size >= cols ? data : columns(data, rows, cols, from, Math.min(size, cols - from));

/** @type {(data: Float32Array, rows: number, cols: number, from: number, count: number) => Float32Array} */
const columns = memo((data, rows, cols, from, count) => {
  const page = new Float32Array(rows * count);
  for (let row = 0; row < rows; row++)
    page.set(data.subarray(row * cols + from, row * cols + from + count), row * count);
  return page;
});

/** The buttons that turn the pages; the caller provides `turn`. */
export function buildPager() {
  const button = (/** @type {string} */ text, /** @type {number} */ by, /** @type {string} */ key) =>
    h(
      "button",
      { class: "btn icon", type: "button", "aria-label": t(key), title: t(key), on: { click: () => pager.turn(by) } },
      text,
    );
  const [earlier, later] = [button("◀", -1, "embedding.page_earlier"), button("▶", 1, "embedding.page_later")];
  const where = h("span", { class: "dim", "aria-live": "polite" });
  const element = h("div", { class: "pager", dataset: { testid: "dimension-pager" } }, earlier, where, later);
  const pager = { element, earlier, later, where, turn: /** @type {(by: number) => void} */ (() => {}) };
  return pager;
}

/** @param {ReturnType<typeof buildPager>} pager @param {number} from @param {number} size @param {number} count */
export function drawPager({ element, earlier, later, where }, from, size, count) {
  element.hidden = size >= count;
  update(earlier, { disabled: from === 0 });
  update(later, { disabled: from + size >= count });
  setText(where, t("embedding.page", { first: from, last: Math.min(count, from + size) - 1, n: count }));
}

/** @type {Map<string, string[]>} */
const counted = new Map();

/** "64" … "127": the same array each time. @param {number} from @param {number} count @returns {string[]} */
export function counting(from, count) {
  const key = `${from} ${count}`;
  if (!counted.has(key))
    counted.set(
      key,
      Array.from({ length: count }, (_, i) => String(from + i)),
    );
  return /** @type {string[]} */ (counted.get(key));
}

// A matrix with a row for each token and a column for each feature of the open head, as the stations of AFT and RWKV show them.

/**
 * @typedef {Object} FeatureMatrix
 * @property {string} id @property {any} title @property {{shape: number[], data: any}} matrix  [token feature]
 * @property {number} feature  the followed one
 * @property {Scale} [scale] @property {Uint8Array|null} [forbidden]  hatched @property {Float32Array} [tones]
 * @property {(value: number) => string} [cellText] @property {string[]} [labels]  other rows than the queries
 * @property {(row: number, col: number) => string} [say]  one number in words
 * @property {number} [row]  the chosen row; by default the query
 * @property {(row: number, col: number) => Patch} [choice]
 */

/**
 * @param {Part} place @param {ModelTrace} trace @param {State} state @param {Actions} actions @param {FeatureMatrix} of
 */
export function drawFeatureMatrix(place, trace, state, actions, of) {
  const { id, title, matrix, feature, labels = labelsOf(trace.queries.tokens), forbidden = null } = of;
  const names = of.labels ?? namesIn(trace.queries.tokens);
  const { query } = position(state, trace);
  const [rows, features] = matrix.shape;
  const scale = of.scale ?? signedScale(matrix.data);
  const own = (/** @type {number} */ row, /** @type {number} */ col) =>
    of.say ? of.say(row, col) : significant(matrix.data[row * features + col], 5);
  const hatching = forbidden ? t("matrix.forbidden_word") : null;
  nameOfPart(
    place,
    title,
    scaleLegend(scale, { number: (value) => number(value, 2), forbidden: of.tones ? null : hatching }),
  );
  drawMatrix(place.place, {
    id,
    label: t("av.label", { of: headLabel(trace.model, state), name: id, n: rows, d_head: features }),
    values: matrix.data,
    shape: /** @type {[number, number]} */ ([rows, features]),
    forbidden,
    ...(of.tones ? { tones: of.tones } : {}),
    rows: {
      labels,
      ...(of.labels ? {} : { names }),
      title: of.labels ? "" : t("matrix.query_rows"),
      role: of.labels ? "" : "q",
    },
    cols: { labels: counting(0, features), title: t("matrix.dimension_axis"), role: "" },
    scale,
    tall: true,
    bare: true,
    cellText: of.cellText ?? ((value) => number(value, 1)),
    hover: (row, col) => [`${names[row]} [${col}]`, own(row, col)],
    describe: (row, col) =>
      phrase("av.readout", {
        token: of.labels ? names[row] : namedLabel(names[row], "q"),
        dimension: col,
        words: h("b", { class: "mono" }, own(row, col)),
      }),
    chosen: { row: of.row ?? query, col: Math.min(feature, features - 1), span: "row", role: "q" },
    onChoose: (row, col) => actions.set(of.choice?.(row, col) ?? { query: row, cell: [row, col] }),
    filename: ["chumoku", ...headParts(trace.model, state), id].join("-"),
  });
}
