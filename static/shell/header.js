/** The header: model menu, share link, export menu, language, type, theme. */

import { lazy } from "../data/lazily.js";
import { linkOf } from "../state/link.js";
import { withParam } from "../state/params.js";
import { remember } from "../ui/remembered.js";
import { createExport } from "./export_menu.js";
import { createFullPage } from "./full_screen.js";
import { createLargeType } from "./large_type.js";
import { createModelMenu } from "./model_menu.js";
import { createMore } from "./more_menu.js";
import { createShare } from "./share.js";
import { switchTheme } from "./theme.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Context, Draw } from "../page.js"
 * @import { State } from "../state/store.js"
 */

const exporting = lazy(() => import("../export/exporter.js"));

/** @param {Context} context @returns {Draw} */
export function createHeader(context) {
  const { actions, models, problems, address, status, declared, frame } = context;
  const { header } = frame;
  const drawMenu = createModelMenu(header.model, { models, problems, choose: actions.openModel });
  const drawMore = createMore(header.more);
  /** @type {Parameters<Draw>} */
  let shown = [null, actions.get(), null];
  createShare(header.share, {
    address,
    status,
    canSave: () => shown[0] !== null && shown[2] === null,
    save: () => saved(/** @type {any} */ (shown[0]), shown[1]),
  });
  const drawExport = createExport(header.export, context);
  if (header.full) createFullPage(header.full);
  if (header.type) createLargeType(header.type, (type) => actions.set({ type }));
  header.theme?.addEventListener("click", () => actions.set({ theme: switchTheme() }));
  for (const link of header.languages) {
    link.addEventListener("click", () => remember("lang", /** @type {string} */ (link.dataset.lang)));
  }

  return (trace, state, error) => {
    shown = [trace, state, error];
    drawMenu(state.model, error);
    drawMore(state);
    drawExport(trace, state, error);
    for (const link of header.languages) {
      if (link.dataset.lang === state.lang) continue;
      link.href = withParam(linkOf(state, declared), "lang", /** @type {string} */ (link.dataset.lang));
    }
  };
}

/** Saves what is shown as a trace file; the file's name. @param {ModelTrace} trace @param {State} state */
async function saved(trace, state) {
  await exporting.load();
  return /** @type {NonNullable<typeof exporting.code>} */ (exporting.code).saveTrace(trace, state, "safetensors");
}
