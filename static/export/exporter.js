/** The actions of the export menu, one function each: makes a file, saves it, and returns its name. */

import { pngOf } from "../chart/raster.js";
import { download } from "../data/api.js";
import { listed, requestOf } from "../data/request.js";
import { tokenLabel } from "../model/labels.js";
import { rowOf } from "../model/selection.js";
import { headParts } from "../ui/head_names.js";
import { t } from "../ui/i18n.js";
import { whereOf } from "../ui/next_words.js";
import { saveBlob, saveText } from "../ui/save.js";
import { barsCsv, csv, matrixCsv, tokensCsv } from "./csv.js";
import { drawingScene } from "./drawing.js";
import { captionOf, fileName, titleOf } from "./names.js";
import { offlineHtml } from "./offline_file.js";
import { overviewScene } from "./overview_picture.js";
import { arePooled, nameOf, namesOf, stationScene } from "./station_picture.js";
import { tokenScene } from "./token_picture.js";

/**
 * @import { Picture } from "../chart/pictures.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { View } from "../stations/index.js"
 * @import { Drawing } from "./drawing.js"
 */

/**
 * @param {{river: Drawing|null, trace: ModelTrace, state: State,
 *   view: View, station: HTMLElement, pictures: Picture[],
 *   link: string}} shown
 */
export function exporterOf(shown) {
  const { trace, state, view } = shown;
  const model = trace.model.name;
  const ofHead = (what, ending) => fileName([model, ...headParts(trace.model, state), what], ending);
  const what = view.called?.(state, trace.model) ?? view.id;
  const name = (ending) => (view.ofHead ? ofHead(what, ending) : fileName([model, what], ending));
  return { ...picturesOf(shown, name), ...numbersOf(shown, name, ofHead) };
}

function picturesOf({ trace, state, view, station, pictures, link, river }, name) {
  const { source, ...said } = captionOf(trace, state, titleOfView(trace, state, view, pictures));
  const caption = { ...said, source: arePooled(pictures) ? `${source} · ${t("export.pooled")}` : source };
  const open = () =>
    view.id === "tokens" ? tokenScene(tokensOf(trace), labelsOf(trace), caption) : stationScene(pictures, caption);
  const grid = trace.pool > 1 ? `${t("heads.grid")}. ${t("heads.cells", { n: trace.pool })}` : t("heads.grid");
  const heads = () => overviewScene(trace, captionOf(trace, state, grid));
  const whole = () => drawingScene(/** @type {any} */ (river), captionOf(trace, state, t("river.title")));
  const png = async (scene, file) => saveBlob(await pngOf(await scene), file);
  const svg = async (scene, file) => saveText((await scene).svg, "image/svg+xml", file);
  const ofHeads = (ending) => fileName([trace.model.name, "heads"], ending);
  return {
    png: () => png(open(), name("png")),
    svg: () => svg(open(), name("svg")),
    html: async () =>
      saveText(await offlineHtml({ trace, state, station, pictures, caption, link }), "text/html", name("html")),
    riverPng: () => png(whole(), fileName([trace.model.name, "river"], "png")),
    riverSvg: () => svg(whole(), fileName([trace.model.name, "river"], "svg")),
    headsPng: () => png(heads(), ofHeads("png")),
    headsSvg: () => svg(heads(), ofHeads("svg")),
  };
}

function numbersOf({ trace, state, view }, name, ofHead) {
  const ofView = view.ofHead ? ofHead : (what, ending) => fileName([trace.model.name, what], ending);
  return {
    /** @param {Picture} picture */
    async csv({ kind, content }) {
      if (kind === "drawn") return saveText(csv(content.table), "text/csv", ofView(content.id, "csv"));
      if (kind === "bars") return saveText(barsCsv(content), "text/csv", name("csv"));
      return saveText(matrixCsv(content), "text/csv", ofHead(content.id, "csv"));
    },
    tokens: async () => saveText(tokensCsv(tokensOf(trace), labelsOf(trace)), "text/csv", name("csv")),
    traceName: (format) => traceName(trace, format),
    trace: (format) => saveTrace(trace, state, format),
  };
}

const traceName = (trace, format) => fileName([trace.model.name, "trace"], format);

/**
 * @param {ModelTrace} trace @param {State} state
 * @param {string} format @returns {Promise<string>} the file's name
 */
export async function saveTrace(trace, state, format) {
  // With the texts of the most likely tokens, so that the file shows its predictions without a server.
  const { written, sides } = trace;
  const all = written && listed(state, [...written.tokens.keys()]);
  const target = sides.target && { target: undefined, target_ids: sides.target.tokens.map(({ id }) => id) };
  const request = {
    ...requestOf(state),
    ...target,
    want: ["*"],
    dtype: "float32",
    format,
    describe: true, // so that the file describes its own tensors
    ...(all && { predict: all }),
  };
  return saveBlob(await download(request), traceName(trace, format));
}

/** Both sides, one after the other. @param {ModelTrace} trace */
function tokensOf({ sides }) {
  return [...sides.source.tokens, ...(sides.target?.tokens ?? [])];
}

function labelsOf(trace) {
  return tokensOf(trace).map(tokenLabel);
}

function titleOfView(trace, state, view, pictures) {
  if (view.id === "tokens") return t("tokens.title");
  if (view.ofHead) return titleOf(trace.model, state, namesOf(pictures));
  if (view.id === "prediction" && view.called?.(state, trace.model) === "prediction")
    return `${t("next.station")} · ${whereOf(trace, rowOf(state, trace))}`;
  return [t(`ribbon.${view.id}`), ...pictures.map(nameOf)].join(" · ");
}
