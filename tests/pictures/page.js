/** The page's own code, mounted in the document of dom.js, asked for the files of its export menu. */

import { picturesIn } from "../../static/chart/pictures.js";
import * as api from "../../static/data/api.js";
import { rankState } from "../../static/data/explain.js";
import { createModels } from "../../static/data/models.js";
import { exporterOf } from "../../static/export/exporter.js";
import { drawingIn } from "../../static/export/svg_pen.js";
import { DECLARED, mount } from "../../static/page.js";
import { fitted } from "../../static/shell/setter.js";
import { readLink } from "../../static/state/link.js";
import { createStore, DEFAULTS } from "../../static/state/store.js";
import { mergedViewState } from "../../static/state/view_state.js";
import { loadCatalogue } from "../../static/ui/i18n.js";
import { VIEWS } from "../../static/views/index.js";
import { document, placeAt, sizeOf } from "./dom.js";

/** Between two pictures of a station, for their names and legends. */
const GAP = 48;
/** The panels that are mounted. */
const PANELS = ["river", "next_token", "compare"];

/**
 * The SVG file of one picture.
 * @param {{link: string, file?: "svg"|"headsSvg"|"riverSvg", only?: number[], theme?: "light"|"dark", lang?: "en"|"ja"}} picture
 *   `file`: which item of the export menu; `only`: these pictures of the station
 * @param {ReturnType<typeof import("./server.js").createServer>} server
 */
export async function svgOf({ link, file = "svg", only, theme = "light", lang = "en" }, server) {
  const { root, page, store } = await mounted({ link, theme, lang }, withoutEffects(server));
  const trace = page.shown();
  if (!trace) throw new Error(`no trace for ${link}`);
  const state = store.get();
  const view = /** @type {any} */ (VIEWS.find(({ id }) => id === state.view));
  const station = /** @type {any} */ (root.querySelector(`.opened > [data-station="${state.view}"]`));
  const problem = root.querySelector(".panel-error, .opened > .panel-lacks");
  if (problem) throw new Error(`${link}: ${problem.textContent}`);
  const pictures = picturesIn(station ?? root).filter((_, i) => only?.includes(i) ?? true);
  let top = 0;
  for (const { plot } of pictures) {
    placeAt(plot, top);
    top += sizeOf(plot).height + GAP;
  }
  const river = drawingIn(/** @type {any} */ (root.querySelector("[data-panel=river]") ?? root));
  return saved(() => exporterOf({ trace, state, view, station, pictures, river, link: "" })[file]());
}

/**
 * The effects of knockouts are asked for a quarter of a second later and colour the lines: a saved picture would have them
 * on a slow machine only.
 * @param {ReturnType<typeof import("./server.js").createServer>} server
 */
const withoutEffects = (server) => ({
  ...server,
  /** @type {typeof server.fetch} */
  fetch: (path, options) => (path === "api/explain/effects" ? new Promise(() => {}) : server.fetch(path, options)),
});

/**
 * A page that shows a link, drawn. `more`: of its state, beyond the link.
 * @param {{link: string, theme?: "light"|"dark", lang?: "en"|"ja", more?: Partial<import("../../static/state/store.js").State>}} of
 * @param {ReturnType<typeof import("./server.js").createServer>} server
 */
export async function mounted({ link, theme = "light", lang = "en", more = {} }, server) {
  globalThis.fetch = /** @type {any} */ (server.fetch);
  Object.assign(document.documentElement, { lang });
  document.documentElement.dataset.theme = theme;
  await loadCatalogue();
  const asked = readLink(link, DECLARED);
  const model = /** @type {string} */ (asked.model);
  const models = createModels({ default: model, models: [await api.model(model)] }, api);
  const first = /** @type {import("../../static/state/store.js").State} */ ({
    ...DEFAULTS,
    ...asked,
    // What heads do is asked for after a pause, when the picture is drawn.
    viewState: mergedViewState(asked.viewState ?? {}, rankState.patch({ bars: "off" }).viewState),
    ...more,
    model,
    theme,
    lang,
  });
  const store = createStore(first);
  store.set(fitted(first, first, ({ model: name }) => models.named(name), DECLARED));
  const root = document.createElement("div");
  document.body.replaceChildren(root);
  const page = mount(root, store, { models, examples: { examples: [] }, pictures: PANELS });
  await page.drawn;
  await new Promise((resolve) => setTimeout(resolve, 0));
  return { root, page, store };
}

/** What is saved as a file meanwhile. @param {() => Promise<unknown>} save @returns {Promise<string>} */
async function saved(save) {
  /** @type {Blob|null} */
  let file = null;
  URL.createObjectURL = (/** @type {any} */ blob) => {
    file = blob;
    return "blob:";
  };
  await save();
  return /** @type {any} */ (file).text();
}
