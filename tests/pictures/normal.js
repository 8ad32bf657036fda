/** A picture as text: one element a line, numbers short, ids counted. */

import { PNG, pixelsIn } from "./canvas.js";

const ELEMENT =
  /<(?=\/?(?:g|svg|defs|title|desc|rect|path|text|image|circle|ellipse|line|polyline|polygon|use|linearGradient|stop|pattern|clipPath)\b)/g;

/** @param {string} svg */
export function normalised(svg) {
  const names = new Map([...svg.matchAll(/ id="([^"]+)"/g)].map(([, id], i) => [id, `id${i}`]));
  const inTag = (/** @type {string} */ tag) =>
    tag
      .replace(/-?\d+\.\d{3,}(?:e-?\d+)?/g, (number) => String(Math.round(Number(number) * 100) / 100))
      .replace(/(?<= id=")[^"]+|(?<=url\(#)[^)]+|(?<=href="#)[^"]+/g, (id) => names.get(id) ?? id);
  return `${svg
    .replace(/<[^>]*>/g, inTag)
    .replace(ELEMENT, "\n<")
    .trim()}\n`;
}

/** With the pixels of an image in the place of its bytes. @param {string} svg */
export const comparable = (svg) =>
  svg.replace(new RegExp(`${PNG}[^"]+`, "g"), (url) => `pixels:${Buffer.from(pixelsIn(url)).toString("hex")}`);
