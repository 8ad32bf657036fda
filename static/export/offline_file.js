/** Collects everything that goes into a saved HTML file from the page. */

import { currentTheme } from "../chart/colour.js";
import { source } from "../chart/plotly.js";
import { tokenLabel } from "../model/labels.js";
import { position } from "../model/selection.js";
import { language, t } from "../ui/i18n.js";
import { isTooMany, plainFigure } from "./figures.js";
import { legendMarkup } from "./legends.js";
import { offlinePage } from "./offline.js";
import { drawnMarkup, matrixMarkup, nameOf } from "./station_picture.js";

/**
 * @import { Picture } from "../chart/pictures.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 */

/**
 * @param {{trace: ModelTrace, state: State, station: HTMLElement,
 *   pictures: Picture[], caption: {title: string, sentence: string, source: string}, link: string}} shown
 * @returns {Promise<string>}
 */
export async function offlineHtml({ trace, state, station, pictures, caption, link }) {
  const files = ["css/tokens.css", "css/tok.css", "css/hovertext.css", "css/offline.css", "export/offline_page.js"].map(
    (name) => read(`/static/${name}`),
  );
  const library = pictures.some(({ kind }) => kind === "bars" || kind === "lines") ? source() : "";
  const [tokensCss, tokCss, hoverCss, offlineCss, script, plotly] = await Promise.all([...files, library]);
  const { query, key } = position(state, trace);
  const roles = ({ index }, side) => [
    side === trace.queries && index === query && "q",
    side === trace.keys && index === key && "k",
  ];
  const strip = (side) =>
    side.tokens.map((token) => ({
      label: tokenLabel(token),
      id: token.id,
      role: roles(token, side).filter(Boolean).join(" "),
    }));
  const large = pictures.filter(isTooMany).map(nameOf).join(", ");
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
    drawings: pictures.map(markupOf),
    data: { pictures: pictures.map((picture) => plainFigure(picture)), sentence: caption.sentence },
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
