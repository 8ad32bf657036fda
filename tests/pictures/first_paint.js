/**
 * The river of the first paint: what the page's own code lays out and says for the first example, as templates. Across, all is in
 * layers, and down, all is in rows, so that css/first_paint.css fits it into any window. Words are calls of `t`.
 */

import { readFileSync } from "node:fs";
import { below } from "../../static/model/labels.js";
import { boardOf } from "../../static/river/board.js";
import { effectOf, nextSoFar } from "../../static/river/facts.js";
import { darkness } from "../../static/river/style.js";
import { answerName } from "../../static/river/words/names.js";
import { briefPercent } from "../../static/ui/format.js";
import { layerTitle } from "../../static/ui/heads.js";
import { size, WIDTH } from "./dom.js";
import { mounted } from "./page.js";
import { createServer } from "./server.js";

/** @import { Board } from "../../static/river/board.js" */
/** @import { Line } from "../../static/river/layout/lines.js" */
/** @typedef {{scene: NonNullable<Board["scene"]>, shown: NonNullable<Board["shown"]>, pitch: number}} Drawn */

const STATIC = new URL("../../static/", import.meta.url);
export const KEPT = new URL("../../templates/first_paint/", import.meta.url);

// Texts come from a catalogue in which each says its key and what is filled in; `worded` makes a call of `t` of that.

/** @param {string} key @param {string} text */
const marked = (key, text) =>
  `⟦${key}${[...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => `¦${name}=¦{${name}}`))].join("")}⟧`;

function catalogue() {
  const texts = JSON.parse(readFileSync(new URL("i18n/en.json", STATIC), "utf8"));
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, marked(key, text)]));
}

const INNERMOST = /⟦([^⟦⟧]*)⟧/g;

/** @param {string} text  of HTML */
function worded(text) {
  /** @type {string[]} */
  const calls = [];
  const quoted = (/** @type {string} */ value) =>
    value
      .split(/(«\d+»)/)
      .filter(Boolean)
      .map((part) => calls[Number(part.match(/^«(\d+)»$/)?.[1] ?? -1)] ?? JSON.stringify(part))
      .join(" ~ ") || '""';
  let now = text;
  while (INNERMOST.test(now))
    now = now.replace(INNERMOST, (_, inner) => {
      const [key, ...parts] = inner.split("¦");
      const filled = parts.flatMap((/** @type {string} */ name, /** @type {number} */ i) =>
        i % 2 ? [] : [`${name}${quoted(parts[i + 1])}`],
      );
      calls.push(`t(${[JSON.stringify(key), ...filled].join(", ")})`);
      return `«${calls.length - 1}»`;
    });
  return now.replace(/«(\d+)»/g, (_, i) => `{{ ${calls[i]} | safe }}`);
}

/** The page of the first example, when all is measured. @param {ReturnType<typeof createServer>} server @param {number} width */
async function drawnAt(server, width) {
  const [{ model, text, layer, head }] = JSON.parse(readFileSync(new URL("examples.json", STATIC), "utf8")).examples;
  const own = server.fetch;
  const fetch = async (/** @type {string} */ path, /** @type {any} */ options) =>
    path.startsWith("static/i18n/") ? Response.json(catalogue()) : own(path, options);
  size.width = width;
  const { root } = await mounted(
    { link: `?model=${model}#text=${encodeURIComponent(text)}`, more: { layer, head, start: true } },
    { ...server, fetch: /** @type {any} */ (fetch) },
  );
  const canvas = /** @type {HTMLCanvasElement} */ (root.querySelector("[data-testid=river]"));
  const board = /** @type {Board} */ (boardOf(canvas));
  const says = /** @type {HTMLElement} */ (root.querySelector("[data-testid=river-says]"));
  for (let tries = 0; !board.shown?.facts.measured?.deciding || !says.querySelector("button"); tries++) {
    if (tries > 200) throw new Error("the effects of knockouts did not come, or the sentence does not say them");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  size.width = WIDTH;
  const scene = /** @type {Drawn["scene"]} */ (board.scene);
  return { scene, shown: board.shown, pitch: scene.bands[0].rows[0].height, says };
}

/** Few digits: a thousandth of a row cannot be seen. @param {number} value */
const short = (value) => String(Math.round(value * 1000) / 1000).replace(/^(-?)0\./, "$1.");
/** @param {string} text */
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** @param {Drawn} drawn @returns {(y: number) => string} heights in rows, from the top of the first row */
const inRows =
  ({ scene: { bands }, pitch }) =>
  (y) =>
    short((y - bands[0].top) / pitch);

/**
 * A curve between two layers.
 * @param {{x0: number, y0: number, x1: number, y1: number}} line @param {(x: number) => number} across @param {(y: number) => string} down
 */
function bend({ x0, y0, x1, y1 }, across, down) {
  const [left, top] = [across(x0), down(y0)];
  const width = across(x1) - left;
  const fall = short(Number(down(y1)) - Number(top));
  return `M${short(left)} ${top}c${short(width / 2)} 0 ${short(width / 2)} ${fall} ${short(width)} ${fall}`;
}

/** How dark a line is, in percent. @param {Drawn} drawn @param {Line} line */
const darknessOf = ({ shown: { facts } }, line) => Math.round(100 * darkness(effectOf(facts, line)?.delta ?? 0));

/** All lines: the wash, the streams, and those that are drawn one by one. @param {Drawn} drawn @param {Line[]} lines @param {(x: number) => number} across @param {(y: number) => string} down */
function curves(drawn, lines, across, down) {
  const path = (/** @type {Line[]} */ some) => some.map((line) => bend(line, across, down)).join("");
  const roughly = (/** @type {Line[]} */ some) => path(some).replace(/(\.\d\d)\d/g, "$1");
  const rest = lines.filter(({ own, shown }) => !own && !shown);
  const wash = [0, 0.3, 1].map((least, i, all) =>
    rest.filter(({ width }) => width >= least && width < (all[i + 1] ?? Infinity)),
  );
  const thick = (/** @type {Line} */ line) => `--w:${short(line.width / drawn.pitch)}`;
  return [
    ...wash.map((some, i) => (some.length ? `<path class="wash wash-${i}" d="${roughly(some)}"/>` : "")),
    ...lines.filter(({ own }) => own).map((line) => `<path class="own" style="${thick(line)}" d="${path([line])}"/>`),
    ...lines
      .filter(({ own, shown }) => !own && shown)
      .sort((a, b) => a.width - b.width)
      .map((line) => {
        const dark = darknessOf(drawn, line);
        return `<path style="${thick(line)}${dark ? `;--dark:${dark}%` : ""}" d="${path([line])}"/>`;
      }),
  ].filter(Boolean);
}

/** A text at a row. @param {string} row @param {string} attrs @param {string} text @param {string} [more]  classes */
const at = (row, attrs, text, more = "") => `<text class="at${more}" style="--r:${row}" ${attrs}>${text}</text>`;

/** The names of the rows. @param {Drawn} drawn @param {string} lens  what the row below them is called */
function names(drawn, lens) {
  const { scene, shown } = drawn;
  const [band] = scene.bands;
  const down = inRows(drawn);
  const rows = band.rows.map(({ from, y }) => {
    const { word, nth } = shown.facts.names[0][from];
    const index = nth === null ? "" : `<tspan class="nth" dy="2">${nth}</tspan>`;
    const on = from === band.chosen ? " on" : "";
    return at(down(y), `x="100%" dy="5"`, escaped(word) + index, on);
  });
  const widest = shown.facts.names[0].map(({ word, nth }) => `<b>${escaped(word)}${nth ?? ""}</b>`);
  return [
    `<div class="first-names"><div class="widest">${widest.join("")}${lens && `<i>${lens}</i>`}</div>`,
    `<svg>`,
    ...rows,
    ...(lens ? [at(down(band.bottom), `x="100%" dy="20"`, lens, " small")] : []),
    `</svg></div>`,
  ];
}

/** The answer with its bars; above a phone's width its name. @param {Drawn} drawn @param {string[]} [name] */
function answers(drawn, name = []) {
  const { scene, shown } = drawn;
  const [{ rows, chosen, bottom }] = scene.bands;
  const down = inRows(drawn);
  const middle = down(rows[Number(chosen)].y);
  const bars = shown.bars.map(({ name, p, text, rest }, i) => [
    `<g class="bar${rest ? " rest" : ""}" style="--i:${i}">`,
    `<text x="22" y="14">${escaped(name)}</text>`,
    `<text class="share" x="100%" y="14">${text}</text>`,
    `<rect x="22" y="20" height="8" rx="2" style="--p-of:${short(p)}"/></g>`,
  ]);
  return [
    `<svg class="first-answers" style="--middle:${middle};--rows:${down(bottom)};--bars:${bars.length}">`,
    `<circle class="at" style="--r:${middle}" cx="5" r="6"/>`,
    ...name,
    ...bars.flat(),
    `</svg>`,
  ];
}

/** The rows' hairlines and the lines between layers. @param {Drawn} drawn @param {number} layers */
function grid(drawn, layers) {
  const down = inRows(drawn);
  return [
    ...Array.from({ length: layers + 1 }, (_, i) => short((100 * i) / layers)).map(
      (x) => `<line class="edge" x1="${x}%" x2="${x}%" y1="6" y2="100%"/>`,
    ),
    ...drawn.scene.bands[0].rows.map(
      ({ y }) => `<line class="at" style="--r:${down(y)}" x1="-6" x2="100%" y1="0" y2="0"/>`,
    ),
  ];
}

/** What each layer says so far. @param {Drawn} drawn */
const lensOf = ({ shown: { trace, facts } }) =>
  nextSoFar(trace, facts.row).map(({ answer, ...of }) => ({
    ...of,
    name: answerName(answer),
    text: briefPercent(answer.p),
  }));

/** All layers, for a window of any width above a phone's. @param {Drawn} drawn */
function wide(drawn) {
  const { scene } = drawn;
  const [band] = scene.bands;
  const { columns } = band;
  const [n, first] = [columns.length, columns[0]];
  const down = inRows(drawn);
  const across = (/** @type {number} */ x) => (x - first.x0) / (first.x1 - first.x0);
  const percent = (/** @type {number} */ layer) => `${short((100 * layer) / n)}%`;
  const titles = columns.map((_, layer) => {
    const title = layerTitle(band, layer);
    return `<text class="small" x="${percent(layer)}" dx="8" y="16">${title}</text>`;
  });
  const guesses = lensOf(drawn).map(({ name, text, final }, layer) => {
    const is = final ? " final" : "";
    const said = `${escaped(name)}<tspan class="roomy">: ${text}</tspan>`;
    return `<text class="at guess${is}" style="--r:${down(band.bottom)};--l:${layer}" x="${percent(layer + 1)}" dx="-6" dy="20">${said}</text>`;
  });
  return [
    ...names(drawn, "⟦river.next⟧"),
    `<div class="first-layers"><svg>`,
    ...grid(drawn, n),
    `</svg><svg class="curves" viewBox="0 0 ${n} ${down(band.bottom)}" preserveAspectRatio="none">`,
    ...curves(drawn, scene.lines, across, down),
    `</svg><svg>`,
    ...titles,
    ...guesses,
    `</svg></div>`,
    ...answers(drawn, [`<text class="answers-name" x="22" dy="-8">⟦place.prediction⟧</text>`]),
  ];
}

/** One layer, and all of them as a strip. @param {Drawn} drawn */
function phone(drawn) {
  const { scene } = drawn;
  const [band] = scene.bands;
  const layer = /** @type {any} */ (scene.only).layer;
  const { x0, x1 } = band.columns[layer];
  const down = inRows(drawn);
  const n = band.columns.length;
  const strip = /** @type {any} */ (scene.strip).scene;
  const inStrip = (/** @type {number} */ y) => String(Math.round(y * 10) / 10);
  const percent = (/** @type {number} */ at) => `${short((100 * at) / n)}%`;
  const stripped = { ...drawn, scene: strip };
  const frames = band.columns.flatMap((_, i) => [
    `<rect${i === layer ? ` class="on"` : ""} x="${percent(i)}" y="1" width="${percent(1)}" height="50" rx="5"/>`,
    `<text x="${percent(i)}" dx="5" y="12">${i}</text>`,
  ]);
  const [whole, last] = [layerTitle(band, layer), n - 1];
  const title = marked("river.layer_of", "{title}{last}").replace("{title}", whole).replace("{last}", `${last}`);
  const { name, text } = lensOf(drawn)[layer];
  const across = (/** @type {number} */ x) => (x - x0) / (x1 - x0);
  return [
    `<div class="first-strip"><svg class="curves" viewBox="0 0 ${short(strip.bands[0].end)} ${short(strip.height)}" preserveAspectRatio="none">`,
    ...curves(stripped, strip.lines, Math.round, inStrip),
    `</svg><svg>`,
    ...frames,
    `</svg></div>`,
    ...names(drawn, ""),
    `<div class="first-layers"><svg>`,
    ...grid(drawn, 1),
    `</svg><svg class="curves" viewBox="0 0 1 ${down(band.bottom)}" preserveAspectRatio="none">`,
    ...curves(drawn, scene.lines, across, down),
    `</svg><svg>`,
    `<text class="small" x="0" dx="8" y="12">${title}</text>`,
    `</svg></div>`,
    ...answers(drawn),
    `<svg class="first-guess"><text class="at" style="--r:${down(band.bottom)}" x="2" dy="20"><tspan class="small">⟦river.lens_here⟧</tspan><tspan class="final">${escaped(name)} ${text}</tspan></text></svg>`,
  ];
}

/** The tokens of the text line, those that come again with their numbers. @param {Drawn} drawn */
function tokens({ shown: { facts } }) {
  return facts.names[0].map(({ word, nth }, i) => {
    const name = `tok${i === facts.row ? " q" : ""}`;
    const [, mark] = word.match(/^“(.*)”$/) ?? [];
    const text = mark
      ? `<span class="text" data-mark="">${escaped(mark)}</span>`
      : `<span class="text">${escaped(word)}</span>`;
    const number = nth === null ? "" : `<sub>${below(nth)}</sub>`;
    return `<button class="${name}" type="button" tabindex="-1" style="--nth:${-i}">${text}${number}</button>`;
  });
}

/** What the page says of it; its button is hidden until it can do what it says. @param {HTMLElement} says */
function sentence(says) {
  for (const button of says.querySelectorAll("button")) button.removeAttribute("data-testid");
  return [says.innerHTML];
}

/** The templates by name. @param {string} [upstream]  a server to record from */
export async function templates(upstream) {
  const server = createServer("stories-gpt", upstream);
  const laptop = await drawnAt(server, WIDTH);
  const said = sentence(laptop.says);
  const small = await drawnAt(server, 362);
  server.save();
  /** @param {string[]} lines */
  const file = (lines) =>
    `{# Made by tests/pictures/first_paint.js from the page's own code: \`make pictures\`. #}\n${lines.map(worded).join("\n")}\n`;
  return {
    wide: file(wide(/** @type {Drawn} */ (laptop))),
    phone: file(phone(/** @type {Drawn} */ (small))),
    tokens: file(tokens(/** @type {Drawn} */ (laptop))),
    says: file(said),
  };
}
