/** The actions of the export menu, one function each: makes a file, saves it, and returns its name. And the names of these files. */

import { download } from "../data/api.js";
import { listed, requestOf } from "../data/request.js";
import { trainedCausal } from "../model/description.js";
import { tokenLabel } from "../model/labels.js";
import { rowOf } from "../model/selection.js";
import { headParts, headTitle, sizeOf } from "../ui/heads.js";
import { t } from "../ui/i18n.js";
import { pngOf, saveBlob, saveText } from "../ui/save.js";
import { predictionPlace } from "../ui/token_text.js";
import { barsCsv, csv, matrixCsv, tokensCsv } from "./csv.js";
import { offlineHtml } from "./offline.js";
import {
  arePooled,
  figureScene,
  overviewScene,
  pictureName,
  pictureNames,
  stationScene,
  tokenScene,
} from "./pictures.js";
import { drawingScene } from "./svg_pen.js";

/**
 * @import { Picture } from "../chart/pictures.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { State } from "../state/store.js"
 * @import { View } from "../views/view.js"
 * @import { Caption } from "./scene.js"
 * @import { Drawing } from "./svg_pen.js"
 */

// The names of saved files, and the text in them about where they come from.

/** "chumoku-stories-gpt-layer2-head5-weights.csv": plain letters, so that it is the same on every disk. @param {(string|number)[]} parts @param {string} ending */
function fileName(parts, ending) {
  const plain = parts.map((part) =>
    String(part)
      .replace(/[^A-Za-z0-9._-]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, ""),
  );
  return `${["chumoku", ...plain.filter(Boolean)].join("-")}.${ending}`;
}

/**
 * The caption of a picture.
 * @param {ModelTrace} trace
 * @param {State} state
 * @param {string} title  what is shown
 * @param {string[]} [edits]  each in words
 * @returns {Caption}
 */
function captionOf(trace, state, title, edits = []) {
  const { name, d_model } = trace.model;
  const model = t("export.model", { name, d_model, ...sizeOf(trace.model) });
  const sentence = trace.targetText === null ? trace.text : `${trace.text} → ${trace.targetText}`;
  return { title, sentence, source: [model, ...unusual(trace, state), ...edits, "chumoku"].join(" · ") };
}

/** The settings that differ from the model's training. @param {ModelTrace} trace @param {State} state */
function unusual({ causal, model, sides }, { padMask }) {
  const { real, tokens } = sides.source;
  const n = tokens.length - (real.end - real.start);
  const words = [
    causal !== trainedCausal(model) && t(causal ? "export.causal" : "export.not_causal"),
    n > 0 && t(real.start > 0 ? "export.padded_left" : "export.padded_right", { n }),
    n > 0 && !padMask && t("export.padding_off"),
  ];
  return words.filter(Boolean);
}

/** @param {any} model @param {State} state @param {string} what */
function titleOf(model, state, what) {
  return `${headTitle(model, state)} · ${what}`;
}

/**
 * @typedef {{river: Drawing|null, trace: ModelTrace, state: State, view: View, station: HTMLElement, pictures: Picture[],
 *   link: string, edits?: string[]}} Shown  what is on the page; `edits`: those of the run, in words
 * @typedef {(ending: string) => string} Name  of a file with this ending
 * @typedef {(what: string, ending: string) => string} NameOf
 */

/** @param {Shown} shown */
export function exporterOf(shown) {
  const { trace, state, view } = shown;
  const model = trace.model.name;
  /** @type {NameOf} */
  const ofHead = (what, ending) => fileName([model, ...headParts(trace.model, state), what], ending);
  const what = view.called?.(state, trace.model) ?? view.id;
  /** @type {Name} */
  const name = (ending) => (view.ofHead ? ofHead(what, ending) : fileName([model, what], ending));
  return { ...picturesOf(shown, name), ...numbersOf(shown, name, ofHead) };
}

/**
 * Saves one picture with its caption: what its own buttons do.
 * @param {Omit<Shown, "river"|"pictures">} shown @param {Picture} picture @param {"png"|"svg"} format @returns {Promise<string>} the file's name
 */
export async function saveFigure({ trace, state, view, station, link, edits }, picture, format) {
  const ofStation = station?.contains(picture.plot);
  const title = ofStation ? titleOfView(trace, state, view, [picture]) : pictureName(picture);
  const { source, ...said } = captionOf(trace, state, title, edits);
  const pooled = arePooled([picture]) ? `${source} · ${t("export.pooled")}` : source;
  const { content } = picture;
  const about = "about" in content ? content.about : undefined;
  const scene = await figureScene(picture, { ...said, source: pooled, about, link });
  const file =
    "filename" in content
      ? `${content.filename}.${format}`
      : fileName([trace.model.name, "id" in content ? content.id : picture.kind], format);
  return format === "png" ? saveBlob(await pngOf(scene), file) : saveText(scene.svg, "image/svg+xml", file);
}

/** @param {Shown} shown @param {Name} name */
function picturesOf({ trace, state, view, station, pictures, link, river, edits }, name) {
  const captioned = (/** @type {string} */ title) => ({ ...captionOf(trace, state, title, edits), link });
  const { source, ...said } = captioned(titleOfView(trace, state, view, pictures));
  const caption = { ...said, source: arePooled(pictures) ? `${source} · ${t("export.pooled")}` : source };
  const open = () =>
    view.id === "tokens" ? tokenScene(tokensOf(trace), labelsOf(trace), caption) : stationScene(pictures, caption);
  const grid = trace.pool > 1 ? `${t("heads.grid")}. ${t("heads.cells", { n: trace.pool })}` : t("heads.grid");
  const heads = () => overviewScene(trace, captioned(grid));
  const whole = () => drawingScene(/** @type {any} */ (river), captioned(t("river.title")));
  /** @typedef {ReturnType<typeof overviewScene>} Scene @typedef {Scene|Promise<Scene>} SceneOrLater */
  const png = async (/** @type {SceneOrLater} */ scene, /** @type {string} */ file) =>
    saveBlob(await pngOf(await scene), file);
  const svg = async (/** @type {SceneOrLater} */ scene, /** @type {string} */ file) =>
    saveText((await scene).svg, "image/svg+xml", file);
  const ofHeads = (/** @type {string} */ ending) => fileName([trace.model.name, "heads"], ending);
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

/** @param {Shown} shown @param {Name} name @param {NameOf} ofHead */
function numbersOf({ trace, state, view }, name, ofHead) {
  /** @type {NameOf} */
  const ofView = view.ofHead ? ofHead : (what, ending) => fileName([trace.model.name, what], ending);
  return {
    /** @param {Picture} picture */
    async csv({ kind, content }) {
      if (kind === "drawn") return saveText(csv(content.table), "text/csv", ofView(content.id, "csv"));
      if (kind === "bars") return saveText(barsCsv(content), "text/csv", name("csv"));
      return saveText(matrixCsv(content), "text/csv", ofHead(content.id, "csv"));
    },
    tokens: async () => saveText(tokensCsv(tokensOf(trace), labelsOf(trace)), "text/csv", name("csv")),
    traceName: (/** @type {string} */ format) => traceName(trace, format),
    trace: (/** @type {string} */ format) => saveTrace(trace, state, format),
  };
}

const traceName = (/** @type {ModelTrace} */ trace, /** @type {string} */ format) =>
  fileName([trace.model.name, "trace"], format);

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

/** @param {ModelTrace} trace */
function labelsOf(trace) {
  return tokensOf(trace).map(tokenLabel);
}

/** @param {ModelTrace} trace @param {State} state @param {View} view @param {Picture[]} pictures @returns {string} */
function titleOfView(trace, state, view, pictures) {
  if (view.id === "tokens") return t("tokens.title");
  if (view.ofHead) return titleOf(trace.model, state, pictureNames(pictures));
  if (view.id === "prediction" && view.called?.(state, trace.model) === "prediction")
    return `${t("next.station")} · ${predictionPlace(trace, rowOf(state, trace))}`;
  const place = t(view.id === "model" ? "place.model" : `ribbon.${view.id}`);
  return [place, ...pictures.map(pictureName)].join(" · ");
}
