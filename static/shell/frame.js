/** The elements of the page, in order. Controls and panels are passed their elements and never look one up. */

import { buildSide } from "../panels/heads/heads.js";
import { h, newId, replace } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { buildHeader } from "./header.js";

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

/** Its empty element. A panel without a title is part of another one. @param {Panel} panel @param {boolean} [second]  of the second of two pages @returns {HTMLElement} */
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
  const caption = h("p", { "aria-live": "polite", dataset: { testid: "caption" } }); // shell/examples.js puts it over the picture
  const parts = { root, skip, header, files, sentence, welcome, offer, main, ribbon, body, right, foot, opened, side };
  return { ...parts, panels: byId, help, caption };
}

/** The place of shell/saved_traces.js, and what chooses a file. */
function buildFiles() {
  const element = h("section", { class: "files", "aria-label": t("open.title") });
  const input = h("input", { type: "file", accept: ".safetensors", hidden: true, dataset: { testid: "file-input" } });
  return { element, input };
}

// The elements of the sentence bar: the sentence, the target, errors about either, and the page's status.

/** @typedef {ReturnType<typeof buildSentence>} SentenceParts */

/** @param {HTMLElement[]} panels  beside Step */
export function buildSentence(panels) {
  const problem = problemLine("sentence-problem", "problem");
  const targetProblem = problemLine("target-problem", "target-problem");
  const about = h("span", { class: "dim about", id: newId("target-about"), dataset: { testid: "target-about" } });
  const parts = {
    input: field("sentence", { "aria-describedby": problem.id, autocapitalize: "sentences" }),
    took: h("span", { class: "dim took", dataset: { testid: "took" } }),
    picture: h("div", { class: "picture", hidden: true, dataset: { testid: "picture" } }),
    problem,
    notes: h("div", { class: "notes", role: "status", hidden: true, dataset: { testid: "notes" } }),
    written: h("p", { class: "written", hidden: true, dataset: { testid: "written" } }),
    strip: h("div", { class: "strip" }),
    target: field("target", { "aria-describedby": `${about.id} ${targetProblem.id}` }),
    targetAbout: about,
    targetOwn: h(
      "button",
      { class: "btn", type: "button", hidden: true, dataset: { testid: "target-own" } },
      t("target.own"),
    ),
    targetSwitch: h("button", { class: "btn", type: "button", hidden: true, dataset: { testid: "target-switch" } }),
    targetProblem,
    targetStrip: h("div", { class: "strip target-strip", hidden: true }),
    steps: h("div", { class: "steps", dataset: { testid: "steps" } }),
    status: h("p", { class: "sr-only", role: "status", "aria-live": "polite" }),
    banner: h("p", { class: "banner", role: "alert", hidden: true, dataset: { testid: "banner" } }),
  };
  const ends = h("div", { class: "ends" }, panels, parts.steps);
  const row = h("div", { class: "row" }, parts.input, parts.picture, parts.took);
  const targetRow = h(
    "div",
    { class: "row target", hidden: true },
    parts.target,
    about,
    parts.targetOwn,
    parts.targetSwitch,
  );
  const under = h("div", { class: "under" }, parts.strip, ends);
  const targetUnder = h("div", { class: "under target-under" }, parts.targetStrip);
  const element = h(
    "section",
    { class: "sentence" },
    ...[row, problem, parts.written, parts.notes, under],
    ...[targetRow, targetProblem, targetUnder, parts.status, parts.banner],
  );
  return { element, targetRow, under, targetUnder, ends, ...parts };
}

/** @param {"sentence"|"target"} name @param {object} attrs @returns {HTMLTextAreaElement} */
function field(name, attrs) {
  const words = { "aria-label": t(`${name}.label`), placeholder: t(`${name}.placeholder`) };
  const plain = { rows: 1, autocomplete: "off", spellcheck: "false" };
  return h("textarea", { ...plain, ...words, ...attrs, dataset: { testid: name } });
}

/** @param {string} id @param {string} testid @returns {HTMLElement} */
const problemLine = (id, testid) =>
  h("p", { class: "problem", id: newId(id), role: "alert", hidden: true, dataset: { testid } });
