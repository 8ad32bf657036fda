/** The items of the export menu: what of the page can be saved. */

import { picturesIn } from "../chart/pictures.js";
import { snippet } from "../export/csv.js";
import { exporterOf, saveFigure } from "../export/exporter.js";
import { pictureName } from "../export/pictures.js";
import { drawingIn } from "../export/svg_pen.js";
import { overviewOf, tapOf } from "../model/description.js";
import { groupsOf } from "../model/edits.js";
import { h, plainText, setText } from "../ui/dom.js";
import { keyFor, t } from "../ui/i18n.js";
import { groupWords } from "../views/edits.js";
import { predictionTabOf } from "../views/tabs.js";
import { copy } from "./share.js";

/**
 * @import { Asked } from "../chart/figures.js"
 * @import { Picture } from "../chart/pictures.js"
 * @import { ApiError } from "../data/api.js"
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Attention, Model } from "../model/description.js"
 * @import { Context } from "../page.js"
 * @import { State } from "../state/store.js"
 * @import { View } from "../views/view.js"
 * @import { Child } from "../ui/dom.js"
 */

/**
 * @typedef {[trace: ModelTrace|null, state: State, error: ApiError|null]} Shown
 * @typedef {{station: HTMLElement|undefined, home: HTMLElement, alone: boolean}} Places  `home`: of the river; `alone`: it is all that is shown
 */

/** The files that can be saved now, in sections. `alone`: the river is all that is shown, so it is "this picture". @param {Shown} shown @param {Places & {run: (make: () => Promise<string>) => void, views: View[], address: Context["address"], model: Model}} page */
export function sectionsOf([trace, state, error], { run, views, address, station, home, alone, model }) {
  if (!trace || error)
    return [h("p", { class: "dim" }, t(keyFor(model, error ? "export.after_error" : "export.nothing")))];
  const view = views.find(({ id }) => id === state.view) ?? views[0];
  const pictures = station ? picturesIn(station) : [];
  address.flush();
  const river = drawingIn(home);
  const save = exporterOf({
    trace,
    state,
    view,
    station: /** @type {HTMLElement} */ (station),
    pictures,
    river,
    link: address.link(),
    edits: editsOf(trace, state),
  });
  const item = (/** @type {string} */ name, /** @type {() => Promise<string>} */ what, file = name) =>
    itemOf(name, file, () => run(what));
  const table = (/** @type {Picture} */ picture) =>
    item("csv", () => save.csv(picture), t("export.csv_of", { name: pictureName(picture) }));
  const tables = view.id === "tokens" ? [item("csv", save.tokens)] : pictures.map(table);
  const none = !pictures.length && view.id !== "tokens";
  const folded = view.id === "prediction" && predictionTabOf(state, trace.model) === "token";
  return [
    river &&
      section(alone ? "export.picture" : "river.title", null, [
        [item("river-png", save.riverPng, "png"), item("river-svg", save.riverSvg, "svg")],
      ]),
    !(alone && river) &&
      section("export.picture", none && t(folded ? "export.no_picture_prediction" : "export.no_picture"), [
        [item("png", save.png), item("svg", save.svg), item("html", save.html)].filter(() => !none),
        tables,
      ]),
    trace.attentions.some(overviewOf) &&
      section("export.heads", null, [
        [item("heads-png", save.headsPng, "png"), item("heads-svg", save.headsSvg, "svg")],
      ]),
    section(
      "export.trace",
      trace.file && t("export.is_file"),
      trace.file ? [] : [traceItems(item, save, { ...state, attention: trace.attention })],
    ),
  ];
}

/** The edits of the run that is shown, each in words. @param {ModelTrace} trace @param {State} state */
const editsOf = (trace, state) =>
  groupsOf(state, trace.model)
    .filter(({ on }) => on)
    .map((group) => plainText(groupWords(group, trace, trace.model)));

/**
 * Saves one picture with a caption, as its own buttons ask; the file's name.
 * @param {ModelTrace} trace @param {State} state @param {Asked} asked @param {Pick<Context, "address"|"views"> & {station: HTMLElement|undefined}} page
 */
export function figureOf(trace, state, { picture, format }, { address, views, station }) {
  address.flush();
  const view = views.find(({ id }) => id === state.view) ?? views[0];
  const shown = {
    trace,
    state,
    view,
    station: /** @type {HTMLElement} */ (station),
    link: address.link(),
    edits: editsOf(trace, state),
  };
  return saveFigure(shown, picture, format);
}

/** @param {string} key @param {Child} note @param {Child[][]} rows */
function section(key, note, rows) {
  const lines = rows.map((row) => h("div", { class: "row" }, row));
  return h("section", null, h("h2", null, t(key)), note && h("p", { class: "dim" }, note), lines);
}

/** @param {string} name @param {string} file @param {() => void} click */
function itemOf(name, file, click) {
  /** @type {Object<string, string>} */
  const known = {
    png: "PNG",
    svg: "SVG",
    html: t("export.html"),
    csv: "CSV",
    safetensors: ".safetensors",
    npz: ".npz",
  };
  return h(
    "button",
    { class: "btn", type: "button", dataset: { testid: `export-${name}` }, on: { click } },
    known[file] ?? file,
  );
}

/** Both formats, and the code that loads the one last pointed at. @param {(name: string, what: () => Promise<string>) => HTMLButtonElement} item @param {ReturnType<typeof exporterOf>} save @param {{attention: Attention, layer: number, head: number}} open */
function traceItems(item, save, { attention, layer, head }) {
  const code = h("code", { dataset: { testid: "snippet" } });
  const show = (/** @type {"safetensors"|"npz"} */ format) =>
    setText(
      code,
      snippet({
        format,
        file: save.traceName(format),
        name: tapOf(attention, layer, overviewOf(attention) ?? "attn_out"),
        head,
        what: `layer ${layer}, head ${head}`,
      }),
    );
  const items = /** @type {const} */ (["safetensors", "npz"]).map((format) => {
    const button = item(format, () => save.trace(format));
    for (const event of ["focus", "pointerenter", "click"]) button.addEventListener(event, () => show(format));
    return button;
  });
  show("safetensors");
  const taken = h("button", { class: "btn", type: "button", dataset: { testid: "copy-snippet" } }, t("export.copy"));
  taken.addEventListener("click", async () => {
    setText(taken, t((await copy(code.textContent)) ? "export.copied" : "export.copy_failed"));
  });
  return [items, h("p", { class: "dim" }, t("export.trace_about")), h("pre", { tabindex: 0 }, code), taken];
}

/** Whether what is open can be saved as a picture by now. @param {State} state @param {Places} places */
export const isDrawn = (state, { station, home, alone }) =>
  alone
    ? drawingIn(home) !== null
    : state?.view === "tokens" || (station !== undefined && picturesIn(station).length > 0);
