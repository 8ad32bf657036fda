/** The header: model menu, share link, export menu, language, type, theme. */

import { openable } from "../data/api.js";
import { retrying } from "../data/ask.js";
import { lazy } from "../data/lazily.js";
import { linkOf, withParam } from "../state/link.js";
import { createPopover, SAVE } from "../ui/controls.js";
import { h, replace, setText } from "../ui/dom.js";
import { errorText } from "../ui/format.js";
import { LANGUAGE_SIGNS, language, t } from "../ui/i18n.js";
import { remember } from "../ui/remembered.js";
import { createFullPage, fullSign } from "./full_screen.js";
import { createModelMenu } from "./model_menu.js";
import { createLargeType, switchTheme } from "./reader_settings.js";
import { createShare } from "./share.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Context, Draw } from "../page.js"
 * @import { State } from "../state/store.js"
 */

// What the header has besides the model, the lessons and the language: a menu.

/** @param {(HTMLElement|null)[]} items @param {(HTMLElement|null)[]} leaving  those of them after which the menu closes */
function buildMore(items, leaving) {
  const attrs = { "aria-label": t("header.others"), title: t("header.others"), dataset: { testid: "more" } };
  const button = h("button", { class: "btn icon", type: "button", ...attrs }, "⋯");
  const panel = h("div", { class: "more-panel", role: "group", "aria-label": t("header.others") }, items);
  return { element: h("div", { class: "more" }, button, panel), button, panel, leaving };
}

/** @param {ReturnType<typeof buildMore>} parts */
function createMore({ element, button, panel, leaving }) {
  const popover = createPopover(element, button, panel, () => {});
  // What is chosen is seen on the page. Type and theme are tried out, and the export opens a menu of its own.
  panel.addEventListener("click", ({ target }) => {
    const at = /** @type {Element} */ (target);
    if (at.closest("[data-lesson]") || leaving.some((item) => item?.contains(at))) popover.close();
  });
}

/**
 * On a phone the menu also has what a wider header shows: lessons, share, language; and the header has the tools, for which the
 * line of the path has no room.
 * @param {Context["frame"]} frame
 */
function fitAsides({ header: { element, asides, more }, path }) {
  const phone = matchMedia("(max-width: 760px)");
  const place = () => {
    if (phone.matches) more.panel.prepend(asides);
    else element.insertBefore(asides, more.element);
    if (phone.matches) element.insertBefore(path.menu, more.element);
    else path.element.append(path.menu);
  };
  phone.addEventListener("change", place);
  place();
}

// The elements of the header. Language, type size and theme belong to the document: only the page that owns it has them.

/** @param {boolean} owner */
export function buildHeader(owner) {
  const parts = {
    model: h("div", { class: "model", dataset: { part: "model" } }),
    lessons: button("btn with-icon", { dataset: { testid: "lessons-button" } }),
    quiz: button("btn with-icon quiz-button", { "aria-pressed": false, dataset: { testid: "quiz-button" } }),
    share: button("btn", { dataset: { part: "share", testid: "share" } }, t("header.share")),
    export: h(
      "div",
      { class: "export", dataset: { part: "export" } },
      button("btn export-button", { dataset: { testid: "export" } }, t("export.button")),
    ),
    languages: owner ? Object.entries(LANGUAGE_SIGNS).map(languageLink) : [],
    other: owner ? otherLanguage() : null,
    type: owner ? icon("type", "header.large_type", "A⁺") : null,
    theme: owner ? icon("theme", "header.theme", "◐") : null,
    full: owner ? icon("full-page", "full.button", fullSign()) : null,
    teach: owner ? icon("teach", "tools.teach", "⌂") : null,
    help: icon("help", "header.help", "?"),
  };
  const languages =
    owner && h("div", { class: "seg", role: "group", "aria-label": t("header.language") }, parts.languages);
  const brand = h("a", { class: "brand", href: "./" }, h("b", { lang: "ja" }, "注目"), h("span", null, "Chumoku"));
  const grow = h("span", { class: "grow" });
  const { model, lessons, quiz, share, type, theme, full, teach, help } = parts;
  const more = buildMore([quiz, teach, parts.export, full, type, theme, help], [quiz, teach, full, help]);
  const asides = h("div", { class: "asides" }, lessons, share, languages);
  const element = h("header", null, brand, model, grow, asides, parts.other, more.element);
  return { element, brand, ...parts, asides, more };
}

/** @param {string} name @param {object} attrs @param {...any} children @returns {HTMLButtonElement} */
const button = (name, attrs, ...children) => h("button", { class: name, type: "button", ...attrs }, ...children);

/**
 * Only a sign, or in the menu a sign with words next to it.
 * @param {string} name @param {string} title @param {string|Node} sign
 */
function icon(name, title, sign) {
  const attrs = { "aria-label": t(title), title: t(title), dataset: { part: name, testid: name } };
  return button("btn icon", attrs, h("span", { class: "sign-text" }, sign), h("span", { class: "word" }, t(title)));
}

/** The page's own language is not a link. @param {[string, string]} entry @returns {HTMLAnchorElement} */
function languageLink([code, sign]) {
  const own = code === language() ? { class: "on", "aria-current": "true" } : { href: `./?lang=${code}` };
  return h("a", { hreflang: code, lang: code, dataset: { lang: code }, ...own }, sign);
}

/** On the start page of a phone, whose menu has both: who cannot read this finds the other without it. */
function otherLanguage() {
  const [code, sign] = Object.entries(LANGUAGE_SIGNS).find(([one]) => one !== language()) ?? ["en", ""];
  const attrs = { class: "btn quiet other-language", href: `./?lang=${code}`, hreflang: code, lang: code };
  return h("a", { ...attrs, dataset: { testid: "other-language" } }, sign);
}

const exporting = lazy(() => import("../export/exporter.js"));

/** Whether this reader may open more models, or why nobody may; a saved page has no server. */
const mayOpen = () => openable().catch(() => ({ allowed: false, replicas: false }));

/** @param {Context} context @returns {Draw} */
export function createHeader(context) {
  const { actions, models, problems, address, status, declared, frame } = context;
  const { header } = frame;
  const dialog = lazy(async () => (await import("./open_model.js")).createOpenModel(context));
  const opener = { allowed: mayOpen, show: () => dialog.load().then(() => dialog.code?.()) };
  const drawMenu = createModelMenu(header.model, { models, problems, choose: actions.openModel, opener });
  createMore(header.more);
  fitAsides(frame);
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
  const languages = [...header.languages, ...(header.other ? [header.other] : [])];
  for (const link of languages) link.addEventListener("click", () => remember("lang", link.hreflang));

  return (trace, state, error) => {
    shown = [trace, state, error];
    drawMenu(state.model, error);
    drawExport(trace, state, error);
    for (const link of languages) {
      if (link.hreflang === state.lang) continue;
      link.href = withParam(linkOf(state, declared), "lang", link.hreflang);
    }
  };
}

/** Saves what is shown as a trace file; the file's name. @param {ModelTrace} trace @param {State} state */
async function saved(trace, state) {
  await exporting.load();
  return /** @type {NonNullable<typeof exporting.code>} */ (exporting.code).saveTrace(trace, state, "safetensors");
}

// The export menu: the open picture, all heads, and the numbers behind them, as files.

const making = lazy(() => import("./export_items.js"));

/** A picture may still be being drawn when the menu opens: how often the menu checks again. */
const [LOOKS, LOOK_MS] = [20, 150];

/** @param {HTMLElement} root @param {Context} context @returns {Draw} */
function createExport(root, { actions, views, address, modelOf, status, openStation, frame }) {
  const button = /** @type {HTMLButtonElement} */ (root.firstElementChild);
  const items = h("div", { class: "export-items" });
  const said = h("p", { class: "said", role: "status", dataset: { testid: "export-said" } });
  const attrs = { class: "btn wide", type: "button", dataset: { testid: "open-file" } };
  const choose = () => {
    popover.close();
    frame.files.input.click();
  };
  const open = h("button", { ...attrs, on: { click: choose } }, t("open.choose"));
  const panel = h("div", {
    class: "export-panel",
    role: "group",
    "aria-label": t("export.title"),
    dataset: { testid: "export-panel" },
  });
  replace(
    panel,
    items,
    said,
    h("section", null, h("h2", null, t("open.title")), open, h("p", { class: "dim" }, t("open.hint"))),
  );
  root.append(panel);
  /** @type {[any, any, any]} */
  let shown = [null, null, null];
  const popover = createPopover(root, button, panel, () => {
    setText(said, "");
    said.classList.remove("bad");
    return retrying(making.load, { onWait: status.waiting }).then(() => list(LOOKS), failed);
  });
  const soon = () => making.load().catch(() => {}); // what fails is asked for again when it is opened
  actions.page.addEventListener(SAVE, (event) => {
    const [trace, state, error] = shown;
    if (!trace || error) return; // the picture saves itself, without a caption
    event.preventDefault();
    const save = async () => {
      await making.load();
      const { figureOf } = /** @type {typeof import("./export_items.js")} */ (making.code);
      const { detail } = /** @type {CustomEvent<import("../chart/figures.js").Asked>} */ (event);
      return figureOf(trace, state, detail, { address, views, station: openStation() });
    };
    save().then(
      (name) => status.say(t("export.saved", { name })),
      (problem) => status.notice(t("export.failed", { message: errorText(problem) })),
    );
  });
  for (const event of ["pointerenter", "focus"]) button.addEventListener(event, soon);

  /** The items of the menu; checks again for a picture that is still being drawn. @param {number} looks */
  function list(looks) {
    const places = {
      station: openStation(),
      home: frame.panels.river,
      alone: Boolean(frame.opened.hidden),
      model: modelOf(actions.get()),
    };
    const { sectionsOf, isDrawn } = /** @type {typeof import("./export_items.js")} */ (making.code);
    replace(items, ...sectionsOf(shown, { run, views, address, ...places }));
    if (!isDrawn(shown[1], places) && looks > 0)
      setTimeout(() => panel.hidden || items.contains(document.activeElement) || list(looks - 1), LOOK_MS);
  }

  /** Does one action and shows its result in the menu. @param {() => Promise<string>} make */
  async function run(make) {
    said.classList.remove("bad");
    setText(said, t("export.working"));
    try {
      setText(said, t("export.saved", { name: await make() }));
    } catch (error) {
      failed(error);
    }
  }

  /** @param {unknown} error */
  function failed(error) {
    console.warn(error);
    said.classList.add("bad");
    setText(said, t("export.failed", { message: errorText(error) }));
  }

  return (trace, state, error) => {
    shown = [trace, state, error];
    if (state.file !== null) soon(); // which must not need the server later
  };
}
