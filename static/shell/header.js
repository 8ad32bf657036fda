/** The header: model menu, share link, export menu, language, type, theme. */

import { linkOf } from "../state/link.js";
import { remember } from "../ui/cookies.js";
import { createExport } from "./export_menu.js";
import { createLargeType } from "./large_type.js";
import { createModelMenu } from "./model_menu.js";
import { createMore } from "./more_menu.js";
import { createShare } from "./share.js";
import { switchTheme } from "./theme.js";

/** @param {import("../page.js").Context} context @returns {import("../page.js").Draw} */
export function createHeader(context) {
  const { actions, models, problems, address, status, declared, frame } = context;
  const { header } = frame;
  const drawMenu = createModelMenu(header.model, { models, problems, choose: actions.openModel });
  const drawMore = createMore(header.more);
  createShare(header.share, { address, status });
  const drawExport = createExport(header.export, context);
  if (header.type) createLargeType(header.type, (type) => actions.set({ type }));
  header.theme?.addEventListener("click", () => actions.set({ theme: switchTheme() }));
  for (const link of header.languages) {
    link.addEventListener("click", () => remember("lang", /** @type {string} */ (link.dataset.lang)));
  }

  return (trace, state, error) => {
    drawMenu(state.model, error);
    drawMore(state);
    drawExport(trace, state, error);
    for (const link of header.languages) {
      if (link.dataset.lang === state.lang) continue;
      link.href = withLanguage(linkOf(state, declared), /** @type {string} */ (link.dataset.lang));
    }
  };
}

/** The same state in another language. @param {string} path @param {string} code */
function withLanguage(path, code) {
  return `${path}${path.includes("?") ? "&" : "?"}lang=${code}`;
}
