/**
 * The open picture as one HTML file that needs no server and no network. Text in, text out: everything that came from
 * a reader or a model is escaped here, or is in JSON without a "<". No DOM.
 */

/** @param {string} text */
function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/\0/g, "\ufffd");
}

/** JSON that cannot end its script element. @param {any} value */
function safeJson(value) {
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
export function offlinePage(page) {
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

function tokenHtml({ label, id, role }) {
  return `<span class="tok ${role}" role="listitem">${escapeHtml(label)}<i>${id}</i></span>`;
}

function pictureHtml({ name, label }, legend, drawing, index) {
  const plot = `<div class="plot" id="picture-${index}" role="img" aria-label="${escapeHtml(label)}">${drawing}</div>`;
  return `<section><h2>${escapeHtml(name)}${legend}</h2><div class="scroll">${plot}</div></section>`;
}

function lineHtml([name, value]) {
  return `<div><dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd></div>`;
}
