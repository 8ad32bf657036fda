/** A wide matrix, one page of dimensions at a time, so that each dimension has at least one pixel. */

import { h, setText, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";

/** The space beside the cells, in pixels: labels, title, margin. */
const BESIDE = 132;
const FEWEST = 32;

/**
 * The number of dimensions per page: all of them if they fit, otherwise a power of two.
 * @param {number} count @param {number} width  pixels
 */
export function pageSize(count, width) {
  const room = Math.max(FEWEST, width - BESIDE);
  return count <= room ? count : 2 ** Math.floor(Math.log2(room));
}

/** @type {WeakMap<ArrayLike<number>, Map<string, Float32Array>>} */
const cut = new WeakMap();

/**
 * Columns `from` … `from + size` of a matrix: the same array each time.
 * @param {{shape: number[], data: any}} matrix @param {number} from @param {number} size @returns {Float32Array}
 */
export function pageOf({ shape: [rows, cols], data }, from, size) {
  if (size >= cols) return data;
  if (!cut.has(data)) cut.set(data, new Map());
  const pages = /** @type {Map<string, Float32Array>} */ (cut.get(data));
  const key = `${from} ${size}`;
  if (!pages.has(key)) pages.set(key, columns(data, rows, cols, from, Math.min(size, cols - from)));
  return /** @type {Float32Array} */ (pages.get(key));
}

function columns(data, rows, cols, from, count) {
  const page = new Float32Array(rows * count);
  for (let row = 0; row < rows; row++)
    page.set(data.subarray(row * cols + from, row * cols + from + count), row * count);
  return page;
}

/** The buttons that turn the pages; the caller provides `turn`. */
export function buildPager() {
  const button = (text, by, key) =>
    h(
      "button",
      { class: "btn icon", type: "button", "aria-label": t(key), title: t(key), on: { click: () => pager.turn(by) } },
      text,
    );
  const [earlier, later] = [button("◀", -1, "embedding.page_earlier"), button("▶", 1, "embedding.page_later")];
  const where = h("span", { class: "dim", "aria-live": "polite" });
  const element = h("div", { class: "pager", dataset: { testid: "dimension-pager" } }, earlier, where, later);
  const pager = { element, earlier, later, where, turn: /** @param {number} by */ (by) => void by };
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
