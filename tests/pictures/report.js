/** A page that shows what changed: before, after, difference. */

import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("changed/", import.meta.url);
/** Where it is; git ignores it. */
export const REPORT = fileURLToPath(new URL("index.html", FOLDER));
const MOST_LINES = 12;

/** @typedef {{name: string, before: string|null, after: string}} Change */

/** @type {Change[]} */
const changes = [];

/** Adds a change to the page. @param {Change} change */
export function report(change) {
  changes.push(change);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(REPORT, page());
}

const page = () => `<!doctype html><meta charset="utf-8"><title>${changes.length} changed pictures</title>
<style>
  body { font: 14px system-ui, sans-serif; margin: 24px; background: #ddd }
  section { margin-bottom: 40px }
  .row { display: flex; gap: 16px; align-items: flex-start; overflow-x: auto }
  figure { margin: 0; flex: none } figcaption { padding: 4px 0; color: #444 } img { display: block }
  .both { position: relative; isolation: isolate; background: #fff } .both img + img { position: absolute; inset: 0; mix-blend-mode: difference }
  pre { background: #fff; padding: 8px; overflow-x: auto } ins { background: #cfc; text-decoration: none } del { background: #fcc; text-decoration: none }
</style>
<h1>${changes.length} changed pictures</h1>
<p>Difference: black where both are the same. <code>make pictures</code> accepts all of them.</p>
${changes.map(section).join("\n")}`;

/** @param {Change} change */
function section({ name, before, after }) {
  const [old, now] = [before === null ? "" : image(before), image(after)];
  const figures = [
    ["before", old || "(none)"],
    ["after", now],
    ["difference", `<div class="both">${old}${now}</div>`],
  ];
  const row = figures
    .map(([caption, shown]) => `<figure><figcaption>${caption}</figcaption>${shown}</figure>`)
    .join("");
  return `<section><h2>${name}</h2><div class="row">${row}</div><pre>${lines(before ?? "", after)}</pre></section>`;
}

/** @param {string} svg */
const image = (svg) => `<img alt="" src="data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}">`;

/** The first lines that only one of them has. @param {string} before @param {string} after */
function lines(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const [was, is] = [new Set(old), new Set(now)];
  const only = (/** @type {string[]} */ all, /** @type {Set<string>} */ others, /** @type {string} */ tag) =>
    all
      .filter((line) => !others.has(line))
      .slice(0, MOST_LINES)
      .map((line) => `<${tag}>${escaped(line.slice(0, 300))}</${tag}>`);
  return [...only(old, is, "del"), ...only(now, was, "ins")].join("\n");
}

/** @param {string} text */
const escaped = (text) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
