/**
 * The terms of a sum as signed bars. The text below names the largest, or the one under the pointer or chosen by
 * arrow key.
 */

import { largest } from "../../model/matrix.js";
import { h, perRoot, setText, svg, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/** In the picture's units: a bar is 1 wide, and the largest term is this high. */
const REACH = 50;

/**
 * @typedef {Object} TermBars
 * @property {ArrayLike<number>} terms
 * @property {(index: number) => string} words  one term: what times what
 * @property {string} label  a description of the sum for screen readers
 * @property {number|null} [chosen]  marked and named in place of the largest
 * @property {(index: number) => void} [onChoose]
 */

const partsOf = perRoot((root) => {
  const paths = {
    up: svg("path", { class: "term-up" }),
    down: svg("path", { class: "term-down" }),
    at: svg("rect", { class: "term-at", width: 1, y: -REACH, height: 2 * REACH }),
  };
  const picture = svg(
    "svg",
    { class: "terms", role: "slider", tabindex: 0, "aria-valuemin": 0, preserveAspectRatio: "none" },
    paths.at,
    paths.up,
    paths.down,
  );
  const said = h("p", { class: "dim term-said" });
  root.append(picture, said);
  const parts = { picture, said, paths, bars: /** @type {TermBars|null} */ (null), shown: 0 };
  listen(parts);
  return parts;
});

/** @param {HTMLElement} root @param {TermBars} bars */
export function drawTermBars(root, bars) {
  const parts = partsOf(root);
  parts.bars = bars;
  const { terms, label } = bars;
  const most = largest(terms);
  const unit = REACH / (Math.abs(terms[most]) || 1);
  const bar = (i) => `M${i + 0.08} 0v${(-terms[i] * unit).toFixed(2)}h.84V0z`;
  const path = (side) => Array.from(terms, (term, i) => (term * side > 0 ? bar(i) : "")).join("");
  update(parts.picture, {
    viewBox: `0 ${-REACH} ${terms.length} ${2 * REACH}`,
    "aria-label": label,
    "aria-valuemax": terms.length - 1,
  });
  update(parts.paths.up, { d: path(1) });
  update(parts.paths.down, { d: path(-1) });
  show(parts, bars.chosen ?? most);
}

/** Name one term. */
function show(parts, index) {
  const { terms, words } = parts.bars;
  parts.shown = Math.max(0, Math.min(index, terms.length - 1));
  update(parts.paths.at, { x: parts.shown });
  const isMost = parts.shown === largest(terms);
  const said = isMost ? t("inspector.largest", { term: words(parts.shown) }) : words(parts.shown);
  setText(parts.said, said);
  update(parts.picture, { "aria-valuenow": parts.shown, "aria-valuetext": said });
}

function listen(parts) {
  const { picture } = parts;
  const under = ({ clientX }) => {
    const { left, width } = picture.getBoundingClientRect();
    return Math.floor(((clientX - left) / width) * parts.bars.terms.length);
  };
  const rest = () => show(parts, parts.bars.chosen ?? largest(parts.bars.terms));
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity };
  picture.addEventListener("pointermove", (event) => show(parts, under(event)));
  picture.addEventListener("pointerleave", rest);
  picture.addEventListener("click", (event) => parts.bars.onChoose?.(under(event)));
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Enter") parts.bars.onChoose?.(parts.shown);
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(parts, parts.shown + steps[event.key]);
  });
}
