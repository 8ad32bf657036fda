/**
 * A document in Node for the page's own code: jsdom, with the page's style sheets, fixed widths of letters and a layout that
 * is as simple as can be. Everything is {@link WIDTH} pixels wide; the pictures of a station lie below each other.
 */

import { readFileSync } from "node:fs";
import { JSDOM, VirtualConsole } from "jsdom";
import { contextOf, dataUrlOf } from "./canvas.js";

const STATIC = new URL("../../static/", import.meta.url);
export const WIDTH = 640;
/** The window, and how wide everything in it is. */
export const size = { width: WIDTH };

/** The sheets of the page as one, as the server sends them. */
function sheets() {
  const css = (/** @type {string} */ name) => readFileSync(new URL(`css/${name}`, STATIC), "utf8");
  return css("page.css").replace(/@import "([^"]+)";/g, (_, name) => css(name));
}

const said = new VirtualConsole();
const { window } = new JSDOM(
  `<!doctype html><html lang="en"><head><style>${sheets()}</style></head><body></body></html>`,
  {
    url: "http://chumoku.test/",
    pretendToBeVisual: true,
    virtualConsole: said,
  },
);
export const { document } = window;
const TOLD = [
  "Node",
  "Element",
  "HTMLElement",
  "SVGElement",
  "SVGSVGElement",
  "XMLSerializer",
  "DOMParser",
  "Event",
  "CustomEvent",
];
const GLOBALS = [
  "document",
  "location",
  "history",
  "sessionStorage",
  "localStorage",
  "MutationObserver",
  "KeyboardEvent",
];

class Observer {
  observe() {}
  unobserve() {}
  disconnect() {}
}

/** @type {Record<string, unknown>} */
const values = {
  ...Object.fromEntries([...TOLD, ...GLOBALS].map((name) => [name, window[name]])),
  ...{ window, innerWidth: 1280, innerHeight: 900, devicePixelRatio: 1, scrollX: 0, scrollY: 0 },
  ...{ ResizeObserver: Observer, IntersectionObserver: Observer },
  CSS: { escape: (/** @type {string} */ text) => text.replace(/[^\w-]/g, "\\$&"), supports: () => true },
  matchMedia: () => ({ matches: false, addEventListener() {}, removeEventListener() {} }),
  requestAnimationFrame: (/** @type {(now: number) => void} */ draw) => setTimeout(() => draw(performance.now()), 0),
  cancelAnimationFrame: clearTimeout,
  scrollTo() {},
  addEventListener: window.addEventListener.bind(window),
  removeEventListener: window.removeEventListener.bind(window),
  dispatchEvent: window.dispatchEvent.bind(window),
  getComputedStyle: (/** @type {Element} */ element) =>
    element === document.documentElement ? { getPropertyValue: property } : looksOf(element),
  ImageData: class {
    constructor(/** @type {Uint8ClampedArray} */ data, /** @type {number} */ width, /** @type {number} */ height) {
      Object.assign(this, { data, width, height });
    }
  },
  Path2D: class {
    moveTo() {}
    lineTo() {}
    bezierCurveTo() {}
    arc() {}
    roundRect() {}
    rect() {}
    addPath() {}
    closePath() {}
  },
};
for (const [name, value] of Object.entries(values))
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });

/** What the page leaves for later, an address to be forgotten in a minute, keeps no test waiting. */
const later = globalThis.setTimeout;
globalThis.setTimeout = /** @type {any} */ (
  (/** @type {() => void} */ code, /** @type {number} */ ms, /** @type {any[]} */ ...more) => {
    const timer = /** @type {any} */ (later(code, ms, ...more));
    return ms > 1000 ? timer.unref() : timer;
  }
);

/** @type {Map<string, string>} custom properties of the root, by theme and name */
const properties = new Map();

/** @param {string} name */
function property(name) {
  const key = `${document.documentElement.dataset.theme} ${name}`;
  const value = properties.get(key) ?? window.getComputedStyle(document.documentElement).getPropertyValue(name);
  properties.set(key, value);
  return value;
}

/** What a property has where nothing sets it. @type {Record<string, string>} */
const INITIAL = {
  fill: "rgb(0, 0, 0)",
  stroke: "none",
  opacity: "1",
  "stroke-width": "1px",
  "stroke-opacity": "1",
  "stroke-dasharray": "none",
};

/** jsdom does not know that `fill="none"` is a style too: it counts where no sheet says otherwise. @param {Element} element */
function looksOf(element) {
  const looks = window.getComputedStyle(element);
  const getPropertyValue = (/** @type {string} */ name) => {
    const value = looks.getPropertyValue(name);
    const attribute = element.getAttribute(name);
    return attribute !== null && (name.startsWith("font") || !value || value === INITIAL[name]) ? attribute : value;
  };
  return new Proxy(looks, {
    get: (own, name) => (name === "getPropertyValue" ? getPropertyValue : Reflect.get(own, name)),
  });
}

/** Where an element lies, if it was placed. @type {WeakMap<Element, DOMRect>} */
const placed = new WeakMap();

/** @param {{left: number, top: number, width: number, height: number}} box */
const boxOf = ({ left, top, width, height }) =>
  /** @type {DOMRect} */ ({ left, top, width, height, x: left, y: top, right: left + width, bottom: top + height });

/** Puts an element at the left edge. @param {Element} element @param {number} top */
export const placeAt = (element, top) => void placed.set(element, boxOf({ left: 0, top, ...sizeOf(element) }));

/** How large a picture is, by its own words. @param {Element} element */
export function sizeOf(element) {
  const own = (/** @type {"width"|"height"} */ name) =>
    parseFloat(element.getAttribute(name) ?? "") || parseFloat(/** @type {HTMLElement} */ (element).style[name]) || 0;
  return { width: own("width") || WIDTH, height: own("height") };
}

Object.defineProperties(window.Element.prototype, {
  getBoundingClientRect: {
    value() {
      return placed.get(this) ?? boxOf({ left: 0, top: 0, ...sizeOf(this) });
    },
  },
  getClientRects: {
    value() {
      return this.closest("[hidden]") ? [] : [1];
    },
  },
  checkVisibility: {
    value() {
      return this.closest("[hidden]") === null;
    },
  },
  scrollIntoView: { value() {} },
  scrollTo: { value() {} },
  clientWidth: { get: () => size.width, set() {} },
  clientHeight: { get: () => 400 },
});
Object.defineProperties(window.HTMLElement.prototype, {
  offsetWidth: { get: () => WIDTH },
  offsetHeight: { get: () => 400 },
});
Object.defineProperties(window.HTMLCanvasElement.prototype, {
  getContext: {
    value() {
      return contextOf(this);
    },
  },
  toDataURL: {
    value() {
      return dataUrlOf(this);
    },
  },
});
window.HTMLAnchorElement.prototype.click = () => {};
