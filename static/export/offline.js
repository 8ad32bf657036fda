/**
 * The open picture as one HTML file that needs no server and no network. Everything that came from a reader or a model is
 * escaped here, or is in JSON without a "<".
 */

import { linesFigure } from "../chart/lines/figure.js";
import { lookOf } from "../chart/matrix/labels.js";
import { evenSize } from "../chart/matrix/layout.js";
import { plotlyFigure, plotlySource } from "../chart/plotly.js";
import { cssColour, currentTheme } from "../chart/theme.js";
import { tokenLabel } from "../model/labels.js";
import { position } from "../model/selection.js";
import { language, t } from "../ui/i18n.js";
import { drawnMarkup, matrixMarkup, pictureName } from "./pictures.js";
import { legendMarkup } from "./scene.js";

/**
 * @import { Size } from "../chart/matrix/layout.js"
 * @import { Axis, Matrix } from "../chart/matrix/matrix.js"
 * @import { Picture } from "../chart/pictures.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Token } from "../model/labels.js"
 * @import { Side } from "../model/sides.js"
 * @import { State } from "../state/store.js"
 */

// A picture as plain data for a file: a matrix with all its texts, or a plot with its traces.

/** A matrix with more cells is in a file as a picture only: the numbers and texts of 300,000 are 15 MB. */
const MANY = 300_000;

/** Whether a file leaves its numbers out. @param {Picture} picture */
const isTooMany = ({ kind, content }) => kind === "matrix" && content.values.length > MANY;

/** @param {Picture} picture */
function plainFigure(picture) {
  const { kind, content } = picture;
  const common = { kind, name: pictureName(picture), label: content.label };
  if (kind === "matrix") return { ...common, ...matrixData(content, picture.size, isTooMany(picture)) };
  if (kind === "drawn") return common;
  if (kind === "lines") return { ...common, ...linesFigure(content) };
  const { data, layout } = plotlyFigure(picture.plot);
  return { ...common, data, layout: { ...layout, dragmode: "zoom" } };
}

/**
 * Its numbers (null where forbidden) and the text of each cell, unless these are too many; and all labels, because more of
 * them fit when zoomed in.
 * @param {Matrix} matrix @param {Size} size
 * @param {boolean} bare  without numbers and texts
 */
function matrixData(
  { values, forbidden, shape, hover, rows, cols, chosen, square },
  { width, height, box, cell, view, font, type, angle, rowText, colText },
  bare,
) {
  const cells = Array.from(bare ? [] : values, (value, at) => (forbidden?.[at] ? null : value));
  const words = cells.map((_, at) => hover(Math.floor(at / shape[1]), at % shape[1]).join("\n"));
  return {
    shape,
    square: Boolean(square),
    values: cells,
    words,
    size: { width, height, box, cell, view, font, type, angle },
    axes: { row: axisOf(rows, rowText, chosen.row), col: axisOf(cols, colText, chosen.col) },
  };
}

/** @param {Axis} axis @param {string[]} texts cut to fit @param {number} chosen */
function axisOf(axis, texts, chosen) {
  const look = lookOf(axis, chosen);
  const labels = texts.map((text, i) => {
    const { fill, "font-weight": weight = 400 } = /** @type {any} */ (look.of(i));
    return { text, fill: cssColour(fill), weight };
  });
  return { labels: axis.hidden ? [] : labels, always: look.always };
}

/** @param {string} text */
function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/\0/g, "\ufffd");
}

/** JSON that cannot end its script element. @param {any} value */
function safeJson(value) {
  /** @type {Record<string, string>} */
  const signs = { "<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029" };
  return JSON.stringify(value).replace(/[<\u2028\u2029]/g, (sign) => signs[sign]);
}

/** A script's source that cannot end its element early. @param {string} source */
function inlineScript(source) {
  return source.replace(/<(?=\/script|script|!--)/gi, "\\x3c");
}

/** @param {string} source */
function inlineStyle(source) {
  return source.replace(/<(?=\/style)/gi, "\\3c ");
}

/** The browser fetches nothing, whatever the file contains. */
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/**
 * @param {{lang: string, theme: string, caption: {title: string, sentence: string, source: string},
 *   tokens: {label: string, id: number|string, role: string}[], formula: string, legends: string[], drawings: string[], about: [string, string][], link: string|null,
 *   words: {link: string, strip: string}, data: {pictures: any[], sentence: string}, plotly: string, script: string, style: string}} page
 *   `formula` (MathML), `legends` and `drawings` (SVG; "" where plotly.js draws) are markup that a serialiser wrote; `about` are lines of name and
 *   value; `plotly` is "" where nothing needs it
 * @returns {string}
 */
function offlinePage(page) {
  const { caption, data } = page;
  return `<!doctype html>
<html lang="${escapeHtml(page.lang)}" data-theme="${escapeHtml(page.theme)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="chumoku">
<link rel="icon" href="data:,">
<title>${escapeHtml(`${caption.title} · chumoku`)}</title>
<style>${inlineStyle(page.style)}</style>
</head>
<body>
<main>
<h1>${escapeHtml(caption.title)}</h1>
<p class="sentence">${escapeHtml(caption.sentence)}</p>
<div class="tokens" role="list" aria-label="${escapeHtml(page.words.strip)}">${page.tokens.map(tokenHtml).join("")}</div>
${page.formula ? `<div class="formula">${page.formula}</div>` : ""}
${data.pictures.map((picture, i) => pictureHtml(picture, page.legends[i], page.drawings[i], i)).join("\n")}
<footer>
<dl>${page.about.map(lineHtml).join("")}</dl>
${page.link === null ? "" : `<p><a href="${escapeHtml(page.link)}" rel="noreferrer">${escapeHtml(page.words.link)}</a></p>`}
</footer>
</main>
<script type="application/json" id="data">${safeJson(data)}</script>
${page.plotly && `<script>${inlineScript(page.plotly)}</script>`}
<script>${inlineScript(page.script)}</script>
</body>
</html>
`;
}

/** @param {{label: string, id: number|string, role: string}} token */
function tokenHtml({ label, id, role }) {
  return `<span class="tok ${role}" role="listitem">${escapeHtml(label)}<i>${id}</i></span>`;
}

/** @param {{name: string, label: string}} picture @param {string} legend  markup @param {string} drawing  markup @param {number} index */
function pictureHtml({ name, label }, legend, drawing, index) {
  const plot = `<div class="plot" id="picture-${index}" role="img" aria-label="${escapeHtml(label)}">${drawing}</div>`;
  return `<section><h2>${escapeHtml(name)}${legend}</h2><div class="scroll">${plot}</div></section>`;
}

/** @param {[string, string]} line */
function lineHtml([name, value]) {
  return `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd></div>`;
}

// Collects everything that goes into a saved HTML file from the page.

/**
 * @param {{trace: ModelTrace, state: State, station: HTMLElement,
 *   pictures: Picture[], caption: {title: string, sentence: string, source: string}, link: string}} shown
 * @returns {Promise<string>}
 */
export async function offlineHtml({ trace, state, station, pictures, caption, link }) {
  const files = [
    "css/tokens.css",
    "css/token.css",
    "css/hovertext.css",
    "css/offline.css",
    "export/offline_page.js",
  ].map((name) => read(`static/${name}`));
  const library = pictures.some(({ kind }) => kind === "bars" || kind === "lines") ? plotlySource() : "";
  const [tokensCss, tokCss, hoverCss, offlineCss, script, plotly] = await Promise.all([...files, library]);
  const { query, key } = position(state, trace);
  /** @param {Token} token @param {Side} side */
  const roles = ({ index }, side) => [
    side === trace.queries && index === query && "q",
    side === trace.keys && index === key && "k",
  ];
  const strip = (/** @type {Side} */ side) =>
    side.tokens.map((token) => ({
      label: tokenLabel(token),
      id: token.id,
      role: roles(token, side).filter(Boolean).join(" "),
    }));
  const even = pictures.map((one) => (one.kind === "matrix" ? { ...one, size: evenSize(one.size) } : one));
  const large = pictures.filter(isTooMany).map(pictureName).join(", ");
  const arrow = { label: "→", id: "", role: "arrow" };
  return offlinePage({
    lang: language(),
    theme: currentTheme(),
    caption,
    tokens: [...strip(trace.sides.source), ...(trace.sides.target ? [arrow, ...strip(trace.sides.target)] : [])],
    formula: [...station.querySelectorAll(".formula math")]
      .map((node) => new XMLSerializer().serializeToString(node))
      .join(""),
    about: [
      [t("export.about_model"), caption.source],
      [t("export.about_date"), new Date().toLocaleString(language(), { dateStyle: "long", timeStyle: "short" })],
      ...(large ? [line(t("export.about_numbers"), t("export.left_out", { names: large }))] : []),
    ],
    link: trace.file ? null : link, // a file has no address
    words: { link: t("export.about_link"), strip: t("tokens.title") },
    legends: pictures.map((picture, i) => legendMarkup(picture, `ramp-${i}`)),
    drawings: even.map(markupOf),
    data: { pictures: even.map(plainFigure), sentence: caption.sentence },
    plotly,
    script,
    style: [tokensCss, tokCss, hoverCss, offlineCss].join("\n"),
  });
}

/** @returns {[string, string]} */
const line = (/** @type {string} */ name, /** @type {string} */ value) => [name, value];

/** What needs no library. @param {Picture} picture @param {number} i */
function markupOf(picture, i) {
  if (picture.kind === "matrix") return matrixMarkup(picture, `matrix-${i}`);
  return picture.kind === "drawn" ? drawnMarkup(picture.plot) : "";
}

/** @param {string} path */
async function read(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: HTTP ${answer.status}`);
  return answer.text();
}
