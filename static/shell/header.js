/** The header: model menu, share link, export menu, language, type, theme. */

import { urlOf } from "../state/store.js";
import { remember } from "../ui/cookies.js";
import { language } from "../ui/i18n.js";
import { createExport } from "./export_menu.js";
import { createLargeType } from "./large_type.js";
import { createModelMenu } from "./model_menu.js";
import { createShare } from "./share.js";
import { switchedTo } from "./switched.js";
import { switchTheme } from "./theme.js";

/** @param {HTMLElement} root @param {import("../controls.js").Context} context @returns {import("../controls.js").Draw} */
export function createHeader(root, context) {
  const { actions, models, url, status } = context;
  const part = (name) => /** @type {HTMLElement} */ (root.querySelector(`[data-part="${name}"]`));
  const choose = (name) =>
    actions.set(
      switchedTo(
        models.find((model) => model.name === name),
        actions.get(),
      ),
    );
  const drawMenu = createModelMenu(part("model"), { models, choose });
  createShare(/** @type {HTMLButtonElement} */ (part("share")), { url, status });
  const drawExport = createExport(part("export"), context);
  createLargeType(part("type"), (type) => actions.set({ type }));
  part("theme").addEventListener("click", () => actions.set({ theme: switchTheme() }));

  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (root.querySelectorAll("[data-lang]"));
  for (const link of links) {
    link.addEventListener("click", () => remember("lang", /** @type {string} */ (link.dataset.lang)));
  }
  // A link that chose the language is remembered: the address forgets it with the first change.
  if (new URLSearchParams(location.search).has("lang")) remember("lang", language());

  return (trace, state, error) => {
    drawMenu(state.model);
    drawExport(trace, state, error);
    for (const link of links) link.href = withLanguage(urlOf(state), /** @type {string} */ (link.dataset.lang));
  };
}

/** The same state in another language. @param {string} path @param {string} code */
function withLanguage(path, code) {
  return `${path}${path.includes("?") ? "&" : "?"}lang=${code}`;
}
