/**
 * What the pictures need of a canvas, in Node: pixels, the nearest-neighbour `drawImage`, a PNG, and text of fixed widths, so
 * that a picture is the same on every machine.
 */

import { crc32, deflateSync, inflateSync } from "node:zlib";

/** Widths in hundredths of the font size; every other Latin letter is 55, a full-width character 100. */
const NARROW = {
  22: "ijl'|",
  30: "I.,:;!·  ",
  34: 'ft()[]-/\\"',
  38: "rs",
  65: "ABCEKPRSTVXYZ&w",
  72: "DGHNOQU",
  85: "mM%W@—…→←",
};
const WIDTHS = new Map(
  Object.entries(NARROW).flatMap(([width, letters]) => [...letters].map((one) => [one, Number(width)])),
);
const WIDE =
  /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3ffff}]/u;
const MONO = 60;

/** How wide a text is. @param {string} text @param {string} font  as of CSS */
export function textWidth(text, font) {
  const size = Number(font.match(/([\d.]+)px/)?.[1] ?? 10);
  const isMono = /mono/i.test(font);
  let sum = 0;
  for (const one of text) sum += WIDE.test(one) ? 100 : isMono ? MONO : (WIDTHS.get(one) ?? 55);
  return (sum * size) / 100;
}

/** The context of one canvas: `words` are its pixels, 0 where nothing was drawn. */
class Context {
  font = "10px sans-serif";
  imageSmoothingEnabled = true;
  words = new Uint32Array(0);

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
  }

  /** Pixels of the canvas's present size; another size clears it. */
  pixels() {
    const { width, height } = this.canvas;
    if (this.words.length !== width * height) this.words = new Uint32Array(width * height);
    return this.words;
  }

  /** @param {string} text */
  measureText(text) {
    const width = textWidth(text, this.font);
    return { width, actualBoundingBoxAscent: 8, actualBoundingBoxDescent: 2 };
  }

  /** @param {number} width @param {number} height */
  createImageData(width, height) {
    return { width, height, data: new Uint8ClampedArray(4 * width * height) };
  }

  /** @param {{data: Uint8ClampedArray, width: number, height: number}} image */
  putImageData({ data, width, height }, left = 0, top = 0) {
    const words = new Uint32Array(data.buffer, data.byteOffset, width * height);
    const [pixels, across] = [this.pixels(), this.canvas.width];
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) pixels[(top + y) * across + left + x] = words[y * width + x];
  }

  /** @param {HTMLCanvasElement} source */
  drawImage(source, left = 0, top = 0, wide = source.width, high = source.height) {
    const from = contextOf(source).pixels();
    const [pixels, { width, height }] = [this.pixels(), this.canvas];
    for (let y = Math.max(0, -top); y < high && top + y < height; y++) {
      for (let x = Math.max(0, -left); x < wide && left + x < width; x++) {
        const word =
          from[Math.floor((y * source.height) / high) * source.width + Math.floor((x * source.width) / wide)];
        if (word) pixels[(top + y) * width + left + x] = word;
      }
    }
  }

  clearRect() {
    this.pixels().fill(0);
  }
}

/** @type {WeakMap<HTMLCanvasElement, Context>} */
const contexts = new WeakMap();

/** @param {HTMLCanvasElement} canvas */
export function contextOf(canvas) {
  const known = contexts.get(canvas);
  if (known) return known;
  // Whatever else is drawn on a canvas of the page is in no file.
  const nothing = () => ({ addColorStop() {} });
  const context = new Proxy(new Context(canvas), {
    get: (own, name) => (name in own ? Reflect.get(own, name) : nothing),
  });
  contexts.set(canvas, context);
  return context;
}

/** The canvas as a PNG. @param {HTMLCanvasElement} canvas */
export function dataUrlOf(canvas) {
  const { width, height } = canvas;
  const bytes = Buffer.from(contextOf(canvas).pixels().buffer);
  const rows = Buffer.alloc(height * (4 * width + 1));
  for (let y = 0; y < height; y++) bytes.copy(rows, y * (4 * width + 1) + 1, 4 * y * width, 4 * (y + 1) * width);
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  size.set([8, 6], 8); // eight bits, red green blue alpha
  const png = [chunk("IHDR", size), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))];
  return `${PNG}${Buffer.concat([SIGNATURE, ...png]).toString("base64")}`;
}

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
export const PNG = "data:image/png;base64,";

/** @param {string} name @param {any} data  a Buffer */
function chunk(name, data) {
  const named = Buffer.concat([Buffer.from(name), data]);
  const out = Buffer.alloc(named.length + 8);
  out.writeUInt32BE(data.length, 0);
  named.copy(out, 4);
  out.writeUInt32BE(crc32(named), named.length + 4);
  return out;
}

/** What a PNG of ours shows, whatever made its bytes small: a zlib of another machine may pack them otherwise. @param {string} url */
export function pixelsIn(url) {
  const bytes = Buffer.from(url.slice(PNG.length), "base64");
  const at = bytes.indexOf("IDAT");
  return inflateSync(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at - 4)));
}
