/** The arithmetic of one element: its terms, their sum, and the model's own number beside it. */

import { drawTermBars } from "../../chart/bars/bars.js";
import { sum } from "../../model/matrix.js";
import { h, replace, setText, update } from "../../ui/dom.js";
import { checkOf, signed, significant } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { math, mtext } from "../../ui/mathml.js";

/**
 * @import { Arithmetic, Mat } from "./product.js"
 *
 * @typedef {NonNullable<Arithmetic["terms"]>} Terms
 * @typedef {ReturnType<typeof buildSum>} SumParts
 */

/** How many terms are named, largest first, if all of the sum is seen then; the others are one number. */
const NAMED = 5;

/** The fixed parts, empty. @param {string} id */
export function buildSum(id) {
  const title = h("h2", null);
  const bars = h("div", { class: "sum-bars" });
  const named = h("ol", { class: "sum-terms" });
  const lines = h("dl", { class: "sum-lines" });
  const total = h("p", { class: "sum-total" });
  const said = h("p", { class: "sr-only", id, "aria-live": "polite" });
  const element = h(
    "section",
    { class: "sum", dataset: { testid: "computation-sum" } },
    title,
    bars,
    named,
    lines,
    total,
    said,
  );
  return { element, title, bars, named, lines, total, said };
}

/**
 * @param {SumParts} parts
 * @param {Arithmetic} arithmetic
 * @param {{mat: Mat, index: string[], where: (Node|string)[], row: number, col: number, hovered: boolean}} of
 *   `index`: what its row and column are called
 */
export function drawArithmetic(parts, arithmetic, { mat: { name, compound }, index, where, row, col, hovered }) {
  const { terms, total, own } = arithmetic;
  update(parts.element, { dataset: { row, col, value: total } });
  const letters = compound ? [mtext("("), name(), mtext(")")] : name();
  const element = math(letters, mtext(`[${index.join(", ")}]`));
  replace(parts.title, element, h("span", { class: "dim" }, where));
  parts.bars.hidden = parts.named.hidden = !terms;
  if (terms) drawBars(parts, terms, hovered);
  replace(parts.lines, arithmetic.lines.map(lineOf));
  replace(
    parts.total,
    h("span", { class: "eq" }, "= "),
    h("b", { class: "mono" }, significant(total, 6)),
    " ",
    own === null
      ? h("span", { class: "dim" }, t(arithmetic.note ?? "computation.moved"))
      : checked({ ...arithmetic, own, tap: arithmetic.tap ?? "" }),
  );
  const { element: box } = parts;
  for (let n = NAMED; terms && n > 0; n--) {
    nameTerms(parts, terms, n);
    if (box.scrollHeight <= box.clientHeight) break;
  }
  // not for a moving pointer, which would never stop talking
  if (!hovered) setText(parts.said, `${parts.title.textContent} ${parts.total.textContent}`);
}

/** No element is chosen. @param {SumParts} parts @param {string} words */
export function drawNoSum(parts, words) {
  update(parts.element, { dataset: { row: "", col: "", value: "" } });
  parts.bars.hidden = parts.named.hidden = true;
  replace(parts.lines);
  replace(parts.total);
  for (const place of [parts.title, parts.said]) setText(place, words);
}

/** The model's own number, and the tensor it comes from. @param {{total: number, own: number, tap: string, times?: number}} arithmetic */
function checked({ total, own, tap, times }) {
  const from = times ? t("computation.tap_times", { tap, times: significant(times) }) : tap;
  return [checkOf(total, own, (value) => significant(value, 6)), " ", h("code", { class: "dim" }, from)];
}

/** @param {Arithmetic["lines"][number]} line */
const lineOf = ([key, vars, value]) =>
  h(
    "div",
    null,
    h("dt", null, t(key, vars)),
    h("dd", { class: "mono" }, value === null ? "" : value === 0 ? "0" : significant(value, 5)),
  );

/** One term in words: "17: 0.83 × −1.2 = −0.996". @param {Terms} terms @returns {(i: number) => string} */
function wordsOf({ a, b, values, label }) {
  return (i) =>
    b
      ? t("computation.term", { i: label(i), a: significant(a[i], 3), b: signed(b[i], 3), value: signed(values[i], 4) })
      : t("computation.term_one", { i: label(i), value: significant(values[i], 4) });
}

/** @param {SumParts} parts @param {Terms} terms @param {boolean} hovered */
function drawBars({ bars }, terms, hovered) {
  const words = wordsOf(terms);
  drawTermBars(bars, { terms: terms.values, words, label: t("computation.terms", { n: terms.values.length }) });
  update(/** @type {Element} */ (bars.querySelector(".term-said")), { "aria-live": hovered ? "off" : "polite" });
}

/** The largest after the first, which the bars name, and what the others add up to. @param {SumParts} parts @param {Terms} terms @param {number} n */
function nameTerms({ named }, terms, n) {
  const words = wordsOf(terms);
  const order = Array.from(terms.values.keys()).sort((i, j) => Math.abs(terms.values[j]) - Math.abs(terms.values[i]));
  const largest = order.slice(0, n).filter((i) => terms.values[i] !== 0);
  const beyond = terms.beyond ?? { n: 0, sum: 0 };
  const rest = {
    n: order.length - largest.length + beyond.n,
    sum: sum(order.slice(largest.length).map((i) => terms.values[i])) + beyond.sum,
  };
  const others =
    rest.n > 0 && h("li", { class: "dim" }, t("computation.others", { n: rest.n, sum: signed(rest.sum, 4) }));
  replace(
    named,
    largest.slice(1).map((i) => h("li", { class: "mono" }, words(i))),
    others,
  );
}
