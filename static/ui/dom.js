/**
 * Builds the page. All content is made here, and nothing here parses markup: a string is always a text node, so a token
 * that spells `<script>` is shown and never run.
 */

import { memo } from "../model/memo.js";

const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";

/**
 * @typedef {Node|string|number|null|undefined|false|Child[]} Child
 * @typedef {{[E in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[E]) => void}} Listeners
 * @typedef {{on?: Listeners, [name: string]: any}} Attrs  see {@link h}
 */

/**
 * An HTML element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attrs|null} [attrs] `class`, `dataset: {}`, `style: {}`, `on: {click: fn}`, anything else an
 *   attribute (null, undefined and false leave it out, true sets it empty; aria-* booleans are written out)
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]} the element
 */
export function h(tag, attrs, ...children) {
  return build(document.createElement(tag), attrs, children);
}

/** An SVG element: `svg("svg", {viewBox: "0 0 8 8"}, svg("path", {d: "…"}))`. See {@link h}. @template {keyof SVGElementTagNameMap} T @param {T} tag @param {Attrs|null} [attrs] @param {...Child} children @returns {SVGElementTagNameMap[T]} */
export function svg(tag, attrs, ...children) {
  return build(document.createElementNS(SVG, tag), attrs, children);
}

/** A MathML element: `mathml("mi", null, "x")`. See {@link h}; mathml.js has shorthands for formulas. @param {string} tag @param {Attrs|null} [attrs] @param {...Child} children @returns {any} */
export function mathml(tag, attrs, ...children) {
  return build(document.createElementNS(MATHML, tag), attrs, children);
}

/** Replaces everything inside `root` by `children`. @param {Element} root @param {...Child} children */
export function replace(root, ...children) {
  root.replaceChildren(...nodes(children));
}

/**
 * The same, except for children that are equal to those there: they stay, and the browser need not style and lay them out again. For
 * content that listens to nothing and that nobody keeps.
 * @param {Element} root @param {...Child} children
 */
export function replaceChanged(root, ...children) {
  const made = nodes(children);
  const were = [...root.childNodes];
  if (were.length !== made.length) return root.replaceChildren(...made);
  made.forEach((child, i) => {
    const node = child instanceof Node ? child : document.createTextNode(child);
    if (!node.isEqualNode(were[i])) were[i].replaceWith(node);
  });
}

/** Set or remove attributes in place, as in {@link h}. @param {Element} element @param {Attrs} attrs */
export function update(element, attrs) {
  for (const [name, value] of Object.entries(attrs)) setAttribute(element, name, value);
  return element;
}

/**
 * Redraws the content of `root` and restores the keyboard's focus to the element with the same `data-focus` or, if that is
 * gone or hidden, to `next`.
 * @param {Element} root @param {() => void} draw @param {HTMLElement} [next]
 */
export function keepingFocus(root, draw, next) {
  const active = /** @type {HTMLElement|null} */ (document.activeElement);
  const within = active !== null && root.contains(active);
  const at = within ? active.dataset.focus : undefined;
  draw();
  const again = at && /** @type {HTMLElement|null} */ (root.querySelector(`[data-focus="${CSS.escape(at)}"]`));
  if (again) again.focus({ preventScroll: true });
  else if (within && !(root.contains(document.activeElement) && document.activeElement?.checkVisibility()))
    next?.focus({ preventScroll: true });
}

/**
 * Hides or shows an element; the keyboard's focus in a hidden one goes to `next`.
 * @param {HTMLElement} element @param {boolean} hidden @param {HTMLElement} next
 */
export function hide(element, hidden, next) {
  if (hidden && element.contains(element.ownerDocument.activeElement)) next.focus({ preventScroll: true });
  element.hidden = hidden;
}

/**
 * Makes a button as wide as the longer of its two words, so that nothing moves when it changes.
 * @param {HTMLElement} button @param {string} other
 */
export function keepWidth(button, other) {
  button.dataset.alsoSays = other;
}

/** The text of nodes and strings. @param {(Node|string)[]} parts */
export const plainText = (parts) => parts.map((part) => (typeof part === "string" ? part : part.textContent)).join("");

/** Writes text only if it differs, because an aria-live region would read it again. @param {Node} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Of each body, how often each name was used: another body begins anew. @type {(body: HTMLElement) => Map<string, number>} */
const namesUsed = memo(() => new Map());

/** An id that is unique in the document: `name`, with a number if it is taken. @param {string} name */
export function newId(name) {
  const used = namesUsed(document.body);
  const count = (used.get(name) ?? 0) + 1;
  used.set(name, count);
  return count === 1 ? name : `${name}-${count}`;
}

/**
 * One value for each root element, made at its first use. A view keeps the nodes that it built this way.
 * @template T
 * @param {(root: HTMLElement) => T} make
 * @returns {(root: Element) => T}
 */
export const perRoot = (make) => memo((root) => make(/** @type {HTMLElement} */ (root)));

/** @template {Element} E @param {E} element @param {Attrs|null|undefined} attrs @param {Child[]} children */
function build(element, attrs, children) {
  update(element, attrs ?? {});
  element.append(...nodes(children));
  return element;
}

/** @param {Child[]} children @returns {(Node|string)[]} */
function nodes(children) {
  const flat = /** @type {(Node|string|number|null|undefined|false)[]} */ (
    /** @type {any[]} */ (children).flat(Infinity)
  );
  return flat
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** @param {any} element @param {string} name @param {any} value */
function setAttribute(element, name, value) {
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
  } else if (name === "dataset") {
    for (const [key, item] of Object.entries(value))
      if (element.dataset[key] !== String(item)) element.dataset[key] = String(item);
  } else if (name === "style") {
    for (const [key, item] of Object.entries(value)) element.style.setProperty(key, String(item));
  } else {
    const text = textOf(name, value);
    if (text === element.getAttribute(name)) return; // the browser would look for rules that depend on it
    if (text === null) element.removeAttribute(name);
    else element.setAttribute(name, text);
  }
}

/** An attribute as text; null: it is not there. @param {string} name @param {any} value @returns {string|null} */
function textOf(name, value) {
  if (name.startsWith("aria-") && typeof value === "boolean") return String(value);
  if (value === null || value === undefined || value === false) return null;
  return value === true ? "" : String(value);
}

// Parts of a table.

/** The head: a row of column names. @param {(string|Node)[]} names */
export const tableHead = (names) =>
  h(
    "thead",
    null,
    h(
      "tr",
      null,
      names.map((name) => h("th", { scope: "col" }, name)),
    ),
  );

/** A table that may be wider than a phone: it scrolls by itself, by keyboard too. @param {string} label @param {Node} [table] */
export const scrolling = (label, table) =>
  h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);

/** A cell with a share, 0 to 1, as a bar behind its words. @param {number} share @param {string} words */
export const shareCell = (share, words) =>
  h("td", null, h("span", { class: "share-bar", "aria-hidden": true, style: { "--share": share } }), words);

/**
 * Where a number's bar is on a track that all of `values` share, in shares of its width. A negative one points left from the zero line.
 * @param {number} value @param {number[]} values
 */
export function barOf(value, values) {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const of = (/** @type {number} */ x) => (high > low ? (x - low) / (high - low) : 0);
  return { zero: of(0), from: of(Math.min(0, value)), share: of(Math.max(0, value)) - of(Math.min(0, value)) };
}

/** The bar of one of these numbers, see `barOf`. @param {number} value @param {number[]} values */
export function signedTrack(value, values) {
  const { zero, from, share } = barOf(value, values);
  const bar = h("span", { class: value < 0 ? "down" : null });
  const style = { "--zero": zero, "--from": from, "--share": share };
  return h("span", { class: "track signed", "aria-hidden": true, style }, bar);
}

// Sizes are read together: for a size that is read between two changes, the browser lays out the page once more.

/** @type {{read: () => any, write: (sizes: any) => void}[]|null} */
let waiting = null;

/** @type {Map<() => void, typeof guard>|null} what handles the mistakes of each */
let unpainted = null;

/** Handles a mistake of the drawing that is under way. @type {(draw: () => void) => void} */
let guard = (draw) => draw();

/**
 * Draws what depends on sizes: reads them, then writes. Within `together`, all that depends on none is drawn before.
 * @template T @param {() => T} read @param {(sizes: T) => void} write
 */
export function measured(read, write) {
  const by = guard;
  const part = { read, write: (/** @type {T} */ sizes) => by(() => write(sizes)) };
  if (waiting) waiting.push(part);
  else part.write(part.read());
}

/**
 * Paints text on a canvas, for which the browser lays out the page: within `together` after everything else, once for each `paint`.
 * @param {() => void} paint
 */
export function painted(paint) {
  if (unpainted) unpainted.set(paint, guard);
  else paint();
}

/** @param {() => void} draw  its `measured` parts share one layout of the page, and its `painted` ones another */
export function together(draw) {
  const parts = /** @type {NonNullable<typeof waiting>} */ ([]);
  const paints = /** @type {NonNullable<typeof unpainted>} */ (new Map());
  [waiting, unpainted] = [parts, paints];
  try {
    draw();
  } finally {
    waiting = null;
    const sizes = parts.map(({ read }) => read());
    for (const [i, { write }] of parts.entries()) write(sizes[i]);
    unpainted = null;
    for (const [paint, by] of paints) by(paint);
  }
}

/** Draws, with mistakes handled by `by`, also those of its `measured` parts. @param {typeof guard} by @param {() => void} draw */
export function guarded(by, draw) {
  const outer = guard;
  guard = by;
  try {
    by(draw);
  } finally {
    guard = outer;
  }
}

/** Does what nobody waits for, when the page has nothing else to do. @param {() => void} act */
export function whenIdle(act) {
  if ("requestIdleCallback" in window) requestIdleCallback(act);
  else setTimeout(act, 1000);
}

// How the page lies in its window.

const ONE_COLUMN = "(max-width: 900px)"; // as in css/layout.css

export const inOneColumn = () => matchMedia(ONE_COLUMN).matches;

/** Whether nothing can hover, as under a finger. */
export const hoverless = () => matchMedia("(hover: none)").matches;

/** The sheet at the foot of the window that leaves the page what is above it; null: there is none (css/layout.css). @param {Element} element  of the page */
export function lowSheet(element) {
  const sheet = element.closest(".main")?.querySelector(":scope > .drawers:not([hidden])");
  return sheet && getComputedStyle(sheet).position === "fixed" ? sheet : null;
}

/** How much of the window's top is covered by what stays in sight. @param {Element} element */
export const coveredOf = (element) => Number.parseFloat(getComputedStyle(element).scrollMarginTop) || 0;
