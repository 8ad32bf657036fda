/** Saves a file on the reader's machine; SVG as valid XML, and as a PNG. */

import { h } from "./dom.js";

/** The forbidden characters: controls, lone surrogates and two noncharacters. */
const NO_XML = new RegExp(
  [
    String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]`,
    String.raw`[\ud800-\udbff](?![\udc00-\udfff])`,
    String.raw`(?<![\ud800-\udbff])[\udc00-\udfff]`,
  ].join("|"),
  "g",
);

/** Text without the characters that XML forbids. @param {string} text */
export function xmlText(text) {
  return text.replace(NO_XML, "\ufffd");
}

/** A canvas is no larger than this in any browser that we know. */
const MOST = 16_384;

/** @typedef {{svg: string, width: number, height: number, about?: string}} Drawing  an SVG file, its size in CSS pixels, and what a PNG says of it */

/** @param {Drawing} drawing @returns {Promise<Blob>} a PNG, two pixels for one where that is possible; with `about` as its description */
export async function pngOf({ svg, width, height, about }) {
  const scale = Math.min(2, MOST / width, MOST / height);
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await /** @type {Promise<Blob>} */ (
    new Promise((resolve, reject) => {
      canvas.toBlob(
        (made) => (made ? resolve(made) : reject(new Error("the picture is too large for a PNG"))),
        "image/png",
      );
    })
  );
  if (!about) return blob;
  const bytes = pngWithText(new Uint8Array(await blob.arrayBuffer()), "Description", about);
  return new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (bytes)], { type: "image/png" });
}

/** Where the first chunk of a PNG (IHDR) ends: 8 bytes of signature, and 12 around its 13. */
const AFTER_HEADER = 33;

/**
 * A PNG with a text in it, as an iTXt chunk (UTF-8, not compressed) after the first: PNG specification, 11.3.3.4.
 * @param {Uint8Array} png @param {string} keyword  1 to 79 letters @param {string} text @returns {Uint8Array}
 */
export function pngWithText(png, keyword, text) {
  const body = new TextEncoder().encode(`iTXt${keyword}\0\0\0\0\0${text.replaceAll("\0", "")}`);
  const chunk = new Uint8Array(body.length + 8);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, body.length - 4); // the name of the chunk does not count
  chunk.set(body, 4);
  view.setUint32(body.length + 4, crc32(body));
  const found = new Uint8Array(png.length + chunk.length);
  found.set(png.subarray(0, AFTER_HEADER));
  found.set(chunk, AFTER_HEADER);
  found.set(png.subarray(AFTER_HEADER), AFTER_HEADER + chunk.length);
  return found;
}

/** The check sum of a PNG's chunks: CRC-32, bit by bit. @param {Uint8Array} bytes */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

const KEPT_FOR_MS = 60_000;

/** @param {Blob} blob @param {string} name @returns {string} the name */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name, hidden: true });
  link.click(); // it need not be attached to the page
  setTimeout(() => URL.revokeObjectURL(url), KEPT_FOR_MS); // the browser may still be asking where to save it
  return name;
}

/** @param {string} text @param {string} type @param {string} name */
export function saveText(text, type, name) {
  return saveBlob(new Blob([text], { type: `${type};charset=utf-8` }), name);
}
