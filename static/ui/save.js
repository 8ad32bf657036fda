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

/** @typedef {{svg: string, width: number, height: number}} Drawing  an SVG file and its size in CSS pixels */

/** @param {Drawing} drawing @returns {Promise<Blob>} a PNG, two pixels for one where that is possible */
export async function pngOf({ svg, width, height }) {
  const scale = Math.min(2, MOST / width, MOST / height);
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large for a PNG"))),
      "image/png",
    );
  });
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
