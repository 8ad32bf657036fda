/** The elements of the page, in order. Controls and panels are passed their elements and never look one up. */

import { buildSide } from "../panels/heads/heads.js";
import { h, newId, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { buildHeader } from "./header.js";
import { buildSentence } from "./sentence/parts.js";

/** @import { Panel } from "../stations/view.js" */

// The places of the panels, according to their `frame`s.

/**
 * An element for each panel: by its id, and the panels of each place in their order.
 * @template T
 * @param {Panel[]} panels @param {(panel: Panel) => T} build
 * @returns {{byId: Object<string, T>, at: Record<"sentence"|"side"|"home"|"top"|"right"|"below"|"foot", T[]>}}
 */
export function placed(panels, build) {
  /** @type {Object<string, T>} */
  const byId = Object.fromEntries(panels.map((panel) => [panel.id, build(panel)]));
  /** @param {string} place */
  const at = (place) => panels.filter(({ frame }) => frame.place === place).map(({ id }) => byId[id]);
  return {
    byId,
    at: {
      sentence: at("sentence"),
      side: at("side"),
      home: at("home"),
      top: at("top"),
      right: at("right"),
      below: at("below"),
      foot: at("foot"),
    },
  };
}

/** Its empty element. A panel without a title is part of another one. @param {Panel} panel @param {boolean} [second]  of a page beside another @returns {HTMLElement} */
function panelElement({ id, shown, frame: { className, title } }, second = false) {
  const attrs = { class: className, dataset: { panel: id }, hidden: Boolean(shown) };
  return title
    ? h("section", { ...attrs, "aria-label": second ? t("beside.in_other", { title: t(title) }) : t(title) })
    : h("div", attrs);
}

/** @typedef {ReturnType<typeof buildFrame>} Frame */

/**
 * @param {HTMLElement} root  everything in it is replaced
 * @param {{panels: Panel[], owner: boolean, second?: boolean}} options  `second`: the document has its main part in another page; `owner`: whether language, type size and theme of the document are chosen here
 */
export function buildFrame(root, { panels, owner, second = false }) {
  const header = buildHeader(owner);
  const { byId, at } = placed(panels, (panel) => panelElement(panel, second));
  const sentence = buildSentence(at.sentence);
  const side = buildSide(at.side);
  const files = buildFiles();
  const welcome = h("section", {
    class: "welcome",
    id: newId("welcome"),
    role: "main",
    tabindex: -1,
    "aria-label": t("welcome.label"),
    hidden: true,
  });
  const offer = h("div", { class: "lesson-offer", dataset: { testid: "lesson-offer" } });
  const ribbon = h("nav", { class: "ribbon", "aria-label": t("ribbon.label") });
  const opened = h("section", {
    class: "panel opened",
    id: newId("opened"),
    role: "tabpanel",
    tabindex: -1,
    "aria-busy": "true",
    dataset: { panel: "opened" },
  });
  const help = h("dialog", { class: "help" });
  const right = h("div", { class: "right" }, at.right);
  const body = h("div", { class: "body" }, h("div", { class: "columns" }, side.element, opened, right), at.below);
  const skip = h("a", { class: "skip", href: `#${opened.id}` }, t("page.skip"));
  const foot = h(second ? "div" : "footer", { class: "foot" }, at.foot);
  const attrs = { class: "main", id: newId("main"), tabindex: -1, "aria-label": second ? t("beside.second") : null };
  const main = h(second ? "section" : "main", attrs, at.home, ribbon, at.top, body);
  replace(root, skip, header.element, files.element, sentence.element, welcome, main, foot, help);
  const caption = h("p", { "aria-live": "polite", dataset: { testid: "caption" } }); // shell/caption.js puts it over the picture
  const parts = { root, skip, header, files, sentence, welcome, offer, main, ribbon, body, right, foot, opened, side };
  return { ...parts, panels: byId, help, caption };
}

/** The place of shell/saved_traces.js, and what chooses a file. */
function buildFiles() {
  const element = h("section", { class: "files", "aria-label": t("open.title") });
  const input = h("input", { type: "file", accept: ".safetensors", hidden: true, dataset: { testid: "file-input" } });
  return { element, input };
}
