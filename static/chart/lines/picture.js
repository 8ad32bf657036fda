/**
 * Two rows of tokens and the weights between them as lines: one picture, a readout below it, pointer and keys that
 * highlight and choose a token, and the same numbers as a table.
 */

import { h, keepingFocus, newId, perRoot, plainText, replace, svg, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { announce, heightsFor } from "../pictures.js";
import { drawNumbers } from "../table.js";
import { typeScale, widthOf } from "../theme.js";
import { linesLayout, weightLines } from "./layout.js";
import { groupFrames, linePaths, rowTitle, tokenRow } from "./svg.js";

/**
 * @import { Numbers } from "../table.js"
 * @import { Box, Layout, Line, Weights } from "./layout.js"
 */

// Pointer and keys on a picture of lines: pointing or focusing highlights, a click or Enter chooses.

/** @param {HTMLElement} box @param {Parts} parts */
function followTokens(box, parts) {
  const at = (/** @type {{target: EventTarget|null}} */ event) => {
    const node = /** @type {SVGElement|null} */ (/** @type {Element} */ (event.target).closest("[data-role]"));
    return node && { role: /** @type {"q"|"k"} */ (node.dataset.role), index: Number(node.dataset.index), node };
  };
  box.addEventListener("pointerover", (event) => event.pointerType !== "touch" && show(at(event), false));
  box.addEventListener("pointerleave", () => show(focused(), false));
  box.addEventListener("focusin", (event) => show(at(event), true));
  box.addEventListener("focusout", () => show(null, false));
  box.addEventListener("click", (event) => {
    const token = at(event);
    if (token) return choose(token);
    const line = /** @type {SVGElement|null} */ (/** @type {Element} */ (event.target).closest(".lit > [data-key]"));
    if (line) parts.picture?.onPair(Number(line.dataset.query), Number(line.dataset.key));
  });
  box.addEventListener("keydown", (event) => {
    const token = at(event);
    if (!token || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(token);
      return;
    }
    const next = neighbour(token, event.key);
    if (!next) return;
    event.preventDefault();
    next.focus({ preventScroll: true });
    bringIntoSight(box, next);
  });

  const focused = () => at({ target: box.contains(document.activeElement) ? document.activeElement : box });
  /** @param {Token|null} token @param {boolean} spoken */
  const show = (token, spoken) => {
    const { active } = parts;
    if (!parts.layout || (active?.role === token?.role && active?.index === token?.index)) return;
    parts.light(token && { role: token.role, index: token.index }, spoken);
  };
  const choose = (/** @type {Token} */ { role, index }) => parts.picture?.onChoose(role, index);

  /** Left and right in a row; up and down to what lies opposite. @param {Token & {node: SVGElement}} token @param {string} key */
  function neighbour({ role, index, node }, key) {
    const rowOf = (/** @type {"q"|"k"} */ one) =>
      /** @type {SVGElement[]} */ ([...box.querySelectorAll(`[data-role="${one}"]`)]);
    const own = rowOf(role);
    /** @type {Object<string, number>} */
    const steps = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: own.length - 1 };
    const step = steps[key];
    if (step !== undefined) return own[Math.min(own.length - 1, Math.max(0, step))];
    const above = parts.picture?.above ?? "q";
    /** @type {Object<string, "q"|"k">} */
    const rows = { ArrowUp: above, ArrowDown: above === "q" ? "k" : "q" };
    const opposite = rows[key];
    if (!opposite || opposite === role) return null;
    const distance = (/** @type {SVGElement} */ other) => Math.abs(middle(other) - middle(node));
    return rowOf(opposite).reduce((best, other) => (distance(other) < distance(best) ? other : best));
  }
}

/** @param {SVGElement} node */
function middle(node) {
  const { left, width } = node.getBoundingClientRect();
  return left + width / 2;
}

/** Scrolls the picture sideways, never the page. @param {HTMLElement} box @param {Element} node */
function bringIntoSight(box, node) {
  const [inside, outside] = [node.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inside.left < outside.left) box.scrollLeft -= outside.left - inside.left + 24;
  else if (inside.right > outside.right) box.scrollLeft += inside.right - outside.right + 24;
}

/** Keeps the names of the rows in view. @param {HTMLElement} box */
function keepTitles(box) {
  for (const title of box.querySelectorAll(".title")) title.setAttribute("x", String(8 + box.scrollLeft));
}

/** The height of the line that says what is left out, in pixels. */
const NOTE = 26;

/**
 * @typedef {Object} Row
 * @property {string[]} labels
 * @property {string} title
 * @property {(index: number) => string} nameOf  one token in full, for screen readers
 * @property {{start: number, end: number, text: string}[]} groups  tokens that are parts of one character
 *
 * @typedef {Object} LinesPicture
 * @property {string} id
 * @property {string} label  a description for screen readers
 * @property {string} title
 * @property {Weights} weights
 * @property {Row} q
 * @property {Row} k
 * @property {"q"|"k"} above  whose tokens are above
 * @property {{q: number, k: number}} chosen
 * @property {(role: "q"|"k", index: number) => void} onChoose
 * @property {(query: number, key: number) => void} onPair
 * @property {(role: "q"|"k", index: number) => (Node|string)[]} describe  a token's weights in a sentence
 * @property {Omit<Numbers, "label">} matrix  the same numbers
 * @property {{name: string, colour: string}[]} legend
 *
 * @typedef {{role: "q"|"k", index: number}} Token
 *
 * @typedef {Object} Parts  of one picture on the page
 * @property {HTMLElement} root @property {HTMLElement} box @property {HTMLElement} note @property {HTMLElement} readout
 * @property {HTMLElement} table @property {string} id
 * @property {LinesPicture|null} picture  the newest
 * @property {{lines: Line[], count: number}} found
 * @property {number} width
 * @property {Token|null} active  whose lines are lit
 * @property {SVGSVGElement|null} svg  null until it is first visible
 * @property {SVGGElement} lit
 * @property {Layout|null} layout
 * @property {{q: number, labels: string[]}} [seen]  what it was last scrolled to
 * @property {(active: Token|null, spoken: boolean) => void} light
 */

const linesParts = perRoot((root) => {
  const id = newId("lines-readout");
  const box = h("div", { class: "lines-box" });
  const note = h("p", { class: "lines-note dim", dataset: { testid: "lines-note" } });
  const readout = h("p", { class: "readout", id, "aria-live": "polite", dataset: { testid: "lines-readout" } });
  const table = h("div", null);
  root.classList.add("lines");
  replace(root, box, note, readout, table);
  const empty = { picture: null, found: { lines: [], count: 0 }, width: 0, active: null, svg: null, layout: null };
  /** @type {Parts} */
  const parts = {
    ...{ root, box, note, readout, table, id, ...empty },
    lit: svg("g"),
    light: (active, spoken) => light(parts, active, spoken),
  };
  followTokens(box, parts);
  box.addEventListener("scroll", () => keepTitles(box)); // the rows' titles stay in view
  announce(box, () => {
    const { picture, layout, svg: plot, found } = parts;
    return picture && layout && plot && { kind: "lines", content: contentOf(picture, layout, found.lines), plot };
  });
  new ResizeObserver(() => parts.picture && root.clientWidth !== parts.width && paint(parts)).observe(root);
  return parts;
});

/** Draw `picture` into `root`, or change what is there. @param {HTMLElement} root @param {LinesPicture} picture */
export function drawLines(root, picture) {
  const parts = linesParts(root);
  parts.picture = picture;
  parts.found = weightLines(picture.weights);
  paint(parts);
  drawNumbers(parts.table, { ...picture.matrix, label: picture.label });
}

/** @param {Parts} parts */
function paint(parts) {
  const { box, root, picture, found } = parts;
  parts.width = root.clientWidth;
  if (!parts.width || !picture) return; // it is hidden: drawn when it has a width again
  const font = { type: typeScale(), measure: (/** @type {string} */ text) => widthOf(text, 13 * typeScale()) };
  const [above, below] = picture.above === "q" ? [picture.q, picture.k] : [picture.k, picture.q];
  const spelled = [above, below].some(({ groups }) => groups.length > 0);
  const layout = linesLayout(
    { above: above.labels, below: below.labels, spelled },
    { width: parts.width, heights: heightsFor(box).map((height) => height - NOTE) },
    font,
  );
  parts.layout = layout;
  keepingFocus(root, () => {
    const scrolled = box.scrollLeft;
    parts.lit = svg("g", { class: "lit", "aria-hidden": true });
    parts.svg = svgOf(parts, picture, layout, above, below);
    replace(box, parts.svg);
    box.scrollLeft = scrolled;
  });
  showChosen(parts, picture);
  keepTitles(box);
  const thin = found.count - found.lines.length;
  replace(parts.note, t(thin ? "lines.thin" : "lines.all", { hidden: thin, n: found.count }));
  update(parts.note, { dataset: { hidden: thin, count: found.count } });
  parts.light(null, true);
}

/** Scrolls to the chosen query after a new choice or new tokens. @param {Parts} parts @param {LinesPicture} picture */
function showChosen(parts, { chosen, q }) {
  if (parts.seen?.q === chosen.q && parts.seen.labels === q.labels) return;
  parts.seen = { q: chosen.q, labels: q.labels };
  const node = parts.svg?.querySelector(`[data-focus="q${chosen.q}"]`);
  if (node) bringIntoSight(parts.box, node);
}

/** @param {Parts} parts @param {LinesPicture} picture @param {Layout} layout @param {Row} above @param {Row} below */
function svgOf({ found, lit, id }, picture, layout, above, below) {
  const { width, height, type } = layout;
  const [up, down] = /** @type {("q"|"k")[]} */ (picture.above === "q" ? ["q", "k"] : ["k", "q"]);
  const look = { above: picture.above, count: picture.weights.series.length, width: 1.5 * type };
  const label = `${picture.label}. ${t("lines.keys")}`;
  const attrs = { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label };
  /** @param {"q"|"k"} role @param {Row} one @param {Box[]} boxes */
  const row = (role, one, boxes) =>
    tokenRow(boxes, { role, chosen: picture.chosen[role], title: one.title, nameOf: one.nameOf }, layout);
  return svg(
    "svg",
    { ...attrs, "aria-describedby": id, dataset: { testid: "lines", lines: found.lines.length } },
    rowTitle(above.title, up, 14 * type, type),
    rowTitle(below.title, down, height - 5 * type, type),
    svg("g", { class: "all", "aria-hidden": true }, linePaths(found.lines, layout, look)),
    lit,
    groupFrames(layout.above, above.groups, layout, true),
    groupFrames(layout.below, below.groups, layout, false),
    row(up, above, layout.above),
    row(down, below, layout.below),
  );
}

/** Highlights one token's lines and names its weights; null: the chosen query's. @param {Parts} parts @param {Token|null} active @param {boolean} spoken */
function light(parts, active, spoken) {
  const { picture, found, layout, readout, lit, svg: drawn } = parts;
  parts.active = active;
  if (!picture || !layout || !drawn) return;
  const { role, index } = active ?? { role: "q", index: picture.chosen.q };
  const own = found.lines.filter((line) => (role === "q" ? line.query : line.key) === index);
  const look = { above: picture.above, count: picture.weights.series.length, width: 3 * layout.type };
  replace(lit, linePaths(own, layout, look));
  drawn.classList.toggle("lighting", active !== null);
  for (const node of /** @type {NodeListOf<SVGElement>} */ (drawn.querySelectorAll(".node"))) {
    node.classList.toggle("on", node.dataset.role === role && Number(node.dataset.index) === index);
  }
  const words = picture.describe(role, index);
  const text = plainText(words);
  update(readout, { "aria-live": spoken ? "polite" : "off", dataset: { role, index } });
  if (readout.textContent !== text) replace(readout, ...words);
}

/** @typedef {ReturnType<typeof contentOf>} LinesContent  what an export needs */

/** @param {LinesPicture} picture @param {Layout} layout @param {Line[]} lines */
function contentOf(picture, layout, lines) {
  const { matrix, legend, id, label, title, weights, above } = picture;
  return {
    ...matrix,
    id,
    label,
    title,
    series: legend,
    layout,
    lines,
    count: weights.series.length,
    above,
  };
}
