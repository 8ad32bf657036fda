/**
 * A pen for SVG: what a picture draws on a canvas, as nodes. It has what the pictures use of a canvas's context: paths,
 * rectangles, text, images, dashes, save, restore and scale. A view that draws such a picture offers it here to the
 * export menu.
 */

import { svg } from "../ui/dom.js";
import { xmlText } from "../ui/save.js";
import { fileScene } from "./scene.js";

/** The commands of a path; like `Path2D`. */
class Path {
  d = "";
  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.d += `M${[x, y].map(short)}`;
  }
  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.d += `L${[x, y].map(short)}`;
  }
  /** @param {...number} at */
  bezierCurveTo(...at) {
    this.d += `C${at.map(short)}`;
  }
  /** A whole circle. @param {number} x @param {number} y @param {number} r */
  arc(x, y, r) {
    const [to, back] = [2 * r, -2 * r].map((dx) => `a${[r, r, 0, 1, 0, dx, 0].map(short)}`);
    this.d += `M${[x - r, y].map(short)}${to}${back}`;
  }
  /** @param {number} x @param {number} y @param {number} w @param {number} h @param {number} r */
  roundRect(x, y, w, h, r) {
    const c = Math.min(r, w / 2, h / 2);
    if (c === 0) {
      this.d += `M${[x, y].map(short)}h${short(w)}v${short(h)}h${short(-w)}z`;
      return;
    }
    const corner = (/** @type {number} */ dx, /** @type {number} */ dy) => `a${[c, c, 0, 0, 1, dx, dy].map(short)}`;
    this.d += `M${[x + c, y].map(short)}h${short(w - 2 * c)}${corner(c, c)}v${short(h - 2 * c)}${corner(-c, c)}`;
    this.d += `h${short(2 * c - w)}${corner(-c, -c)}v${short(2 * c - h)}${corner(c, -c)}z`;
  }
}

/** @param {number} value */
const short = (value) => String(Math.round(value * 100) / 100);

const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" };

class SvgPen extends Path {
  strokeStyle = "none";
  fillStyle = "none";
  lineWidth = 1;
  globalAlpha = 1;
  /** @type {CanvasLineJoin} */
  lineJoin = "miter";
  font = "10px sans-serif";
  /** @type {keyof typeof ANCHORS} */
  textAlign = "left";
  imageSmoothingEnabled = true;
  root = svg("g", null);
  #group = this.root;
  #dash = /** @type {number[]} */ ([]);
  #measuring = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

  beginPath() {
    this.d = "";
  }
  /** A separate path, like `new Path2D()`. */
  path() {
    return new Path();
  }
  /** @param {Path} [path] */
  stroke({ d } = this) {
    const dash = this.#dash.length ? { "stroke-dasharray": this.#dash.join(" ") } : {};
    this.#add("path", { d, fill: "none", stroke: this.strokeStyle, "stroke-width": short(this.lineWidth), ...dash });
  }
  fill() {
    this.#add("path", { d: this.d, fill: this.fillStyle });
  }
  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    this.#add("rect", { x, y, width, height, fill: this.fillStyle });
  }
  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  strokeRect(x, y, w, h) {
    this.beginPath();
    this.roundRect(x, y, w, h, 0);
    this.stroke();
  }
  /** @param {number[]} dash */
  setLineDash(dash) {
    this.#dash = dash;
  }
  /** @param {string} text */
  measureText(text) {
    this.#measuring.font = this.font;
    return this.#measuring.measureText(text);
  }
  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
    this.#text(text, x, y, { fill: this.fillStyle });
  }
  /** The outline of letters, drawn under a text. @param {string} text @param {number} x @param {number} y */
  strokeText(text, x, y) {
    const edge = { stroke: this.strokeStyle, "stroke-width": short(this.lineWidth), "stroke-linejoin": this.lineJoin };
    this.#text(text, x, y, { fill: "none", ...edge });
  }
  /** A canvas, or a part of it: as on a canvas. @param {HTMLCanvasElement} image @param {...number} at */
  drawImage(image, ...at) {
    const [sx, sy, sw, sh] = at.length > 4 ? at : [0, 0, image.width, image.height];
    const [x, y, width, height] = at.slice(-4);
    const part = Object.assign(document.createElement("canvas"), { width: sw, height: sh });
    part.getContext("2d")?.drawImage(image, -sx, -sy);
    const look = { preserveAspectRatio: "none", style: { "image-rendering": "pixelated" } };
    this.#add("image", { x, y, width, height, href: part.toDataURL("image/png"), ...look });
  }
  /** What follows, until `restore`, may be scaled. */
  save() {
    const inner = svg("g", null);
    this.#group.append(inner);
    this.#group = inner;
  }
  restore() {
    this.#group = /** @type {SVGGElement} */ (this.#group.parentNode);
  }
  /** @param {number} x @param {number} y */
  scale(x, y) {
    this.#group.setAttribute("transform", `scale(${x} ${y})`);
  }

  /** @param {string} text @param {number} x @param {number} y @param {object} look */
  #text(text, x, y, look) {
    const [, weight, size, family] = /** @type {RegExpMatchArray} */ (this.font.match(/^(\d+) ([\d.]+)px (.*)$/));
    const font = { "font-weight": weight, "font-size": size, "font-family": family };
    const place = { x: short(x), y: short(y), "text-anchor": ANCHORS[this.textAlign] };
    this.#add("text", { ...place, ...font, ...look }, xmlText(text));
  }

  /** @param {keyof SVGElementTagNameMap} tag @param {object} attrs @param {...string} text */
  #add(tag, attrs, ...text) {
    const alpha = this.globalAlpha < 1 ? { opacity: short(this.globalAlpha) } : {};
    this.#group.append(svg(tag, { ...attrs, ...alpha }, ...text));
  }
}

/** @typedef {{width: number, height: number, draw: (pen: CanvasRenderingContext2D) => void}} Drawing */

/** @type {WeakMap<Element, () => Drawing|null>} */
const offered = new WeakMap();

/** `read` returns what is drawn at that time; null: nothing. @param {HTMLElement} element @param {() => Drawing|null} read */
export function offer(element, read) {
  element.dataset.drawing = "";
  offered.set(element, read);
}

/** The drawing that can be seen inside a panel. @param {Element|undefined} panel @returns {Drawing|null} */
export function drawingIn(panel) {
  const element = panel?.querySelector("[data-drawing]");
  return element?.getClientRects().length ? (offered.get(element)?.() ?? null) : null;
}

/** @param {Drawing} drawing @param {{title: string, sentence: string, source: string}} caption */
export function drawingScene({ width, height, draw }, caption) {
  const pen = new SvgPen();
  draw(/** @type {any} */ (pen));
  return fileScene(caption, { width, height, nodes: [pen.root] });
}
