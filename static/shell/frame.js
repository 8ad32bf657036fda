/** The elements of the page, in order. Controls and panels are passed their elements and never look one up. */

import { h, newId, replace, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { buildHeads } from "../views/heads/heads.js";
import { buildMasks } from "../views/masks.js";
import { buildHeader } from "./header.js";

/** @import { Panel, ToolGroup } from "../views/view.js" */

// The places of the panels, according to their `frame`s.

/**
 * An element for each panel: by its id, and the panels of each place in their order.
 * @template T
 * @param {Panel[]} panels @param {(panel: Panel) => T} build
 * @returns {{byId: Object<string, T>, at: Record<"dock"|"home"|"right"|"below"|"drawer"|"tools", T[]>}}
 */
export function placed(panels, build) {
  /** @type {Object<string, T>} */
  const byId = Object.fromEntries(panels.map((panel) => [panel.id, build(panel)]));
  /** @param {string} place */
  const at = (place) => panels.filter(({ frame }) => frame.place === place).map(({ id }) => byId[id]);
  return {
    byId,
    at: {
      dock: at("dock"),
      home: at("home"),
      right: at("right"),
      below: at("below"),
      drawer: at("drawer"),
      tools: at("tools"),
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
  const sentence = buildSentence();
  const [heads, masks, files] = [buildHeads(), buildMasks(), buildFiles()];
  const welcome = h("section", {
    class: "welcome",
    id: newId("welcome"),
    role: "main",
    tabindex: -1,
    "aria-label": t("welcome.label"),
    hidden: true,
  });
  const offer = h("div", { class: "lesson-offer", dataset: { testid: "lesson-offer" } });
  const dock = h("div", { class: "dock", role: "group", "aria-label": t("dock.label") }, at.dock);
  const said = h("div", { class: "sentences" });
  const say = h("div", { class: "say", dataset: { testid: "say" } }, said);
  const path = buildPath(masks.element, at.tools);
  const opened = h("section", {
    class: "panel opened",
    id: newId("opened"),
    tabindex: -1,
    "aria-busy": "true",
    dataset: { panel: "opened" },
  });
  const help = h("dialog", { class: "help" });
  const right = h("div", { class: "right" }, at.right);
  const place = h("div", { class: "place" }, heads.element, opened);
  const body = h("div", { class: "body" }, h("div", { class: "columns" }, place, right), at.below);
  const drawer = h("div", { class: "drawers", hidden: true }, at.drawer);
  const start = h("div", { class: "start", hidden: true, dataset: { testid: "start" } });
  const mainId = newId("main");
  const skip = h("a", { class: "skip", href: `#${mainId}` }, t("page.skip"));
  const attrs = { class: "main", id: mainId, tabindex: -1, "aria-label": second ? t("beside.second") : null };
  const main = h(second ? "section" : "main", attrs, say, path.element, at.home, masks.quiz, start, body, drawer);
  const room = h("div", { class: "room", hidden: true });
  replace(root, skip, room, header.element, files.element, sentence.element, dock, welcome, main, help);
  const stay = { room, header: header.element, sentence: sentence.element, dock, say, path: path.element };
  measureEnds(root, { ...stay, ...(byId.river && { river: byId.river }) }, drawer);
  const caption = h("p", { "aria-live": "polite", dataset: { testid: "caption" } }); // shell/examples.js puts it beside the text
  const parts = {
    root,
    skip,
    room,
    header,
    files,
    sentence,
    dock,
    welcome,
    offer,
    main,
    say,
    said,
    path,
    body,
    right,
    opened,
    heads,
    masks,
    drawer,
    start,
  };
  return { ...parts, panels: byId, help, caption };
}

/** How much of a part slides under what is above it, before the rest stays in sight (css/dock.css). @param {Element} part */
export const slidesOf = (part) => cssPixels(part, "--slides");

/** A length of the styles, in the page's type size. @param {Element} part @param {string} name */
export function cssPixels(part, name) {
  const style = getComputedStyle(part);
  return (Number.parseFloat(style.getPropertyValue(name)) || 0) * Number(style.getPropertyValue("--type"));
}

/**
 * Measures where each part that css/layout.css keeps in sight ends, so that the next one stops below it.
 * @param {HTMLElement} root @param {Record<string, HTMLElement>} parts  from the top @param {HTMLElement} drawer  with it, the strip stays
 */
function measureEnds(root, parts, drawer) {
  const measure = () => {
    let end = 0;
    const ends = Object.entries(parts).map(([name, part]) => {
      if (part === parts.room || getComputedStyle(part).position === "sticky")
        end += part.getBoundingClientRect().height - slidesOf(part);
      return [`--${name}-end`, `${end}px`];
    });
    update(root, { style: Object.fromEntries(ends) }); // together: the whole page inherits them
  };
  const observer = new ResizeObserver(measure);
  for (const part of [...Object.values(parts), drawer]) observer.observe(part);
}

/** The line of the path: where the page is, the masks, and the tools. @param {HTMLElement} masks @param {HTMLElement[]} tools  panels in the menu of tools */
function buildPath(masks, tools) {
  const crumbs = h("div", { class: "crumbs" });
  const trail = h("nav", { class: "trail", "aria-label": t("path.label"), dataset: { testid: "path" } }, crumbs);
  const inside = h("div", { class: "inside", role: "tablist", "aria-label": t("path.inside") });
  const groups = { cause: toolGroup("cause"), change: toolGroup("change"), compare: toolGroup("compare") };
  groups.compare.element.append(...tools);
  const button = h("button", { class: "btn", type: "button", dataset: { testid: "tools" } }, t("tools.button"));
  const panel = h(
    "div",
    { class: "tools-panel" },
    Object.values(groups).map(({ element }) => element),
  );
  const menu = h("div", { class: "tools" }, button, panel);
  const unfold = h("button", {
    ...{ class: "btn unfold", type: "button", "aria-expanded": "false", dataset: { testid: "path-more" } },
    ...{ "aria-label": t("path.more_about"), title: t("path.more_about") },
  });
  unfold.append(t("path.more"));
  const stations = h("div", { class: "stations" }, inside);
  const element = h("div", { class: "path" }, trail, stations, unfold, h("span", { class: "grow" }), masks, menu);
  return { element, trail, crumbs, stations, inside, unfold, menu, button, panel, groups };
}

/** What has one heading in the menu of tools. @param {ToolGroup} name */
function toolGroup(name) {
  const title = h("p", { class: "tool-group-name", id: newId(`tools-${name}`) }, t(`tools.group.${name}`));
  const items = h("div", { class: "tool-items" });
  return {
    items,
    element: h("div", { class: "tool-group", role: "group", "aria-labelledby": title.id }, title, items),
  };
}

/** The place of shell/saved_traces.js, and what chooses a file. */
function buildFiles() {
  const element = h("section", { class: "files", "aria-label": t("open.title") });
  const input = h("input", { type: "file", accept: ".safetensors", hidden: true, dataset: { testid: "file-input" } });
  return { element, input };
}

// The elements of the sentence bar: the sentence, the target, errors about either, and the page's status.

/** @typedef {ReturnType<typeof buildSentence>} SentenceParts */

function buildSentence() {
  const problem = problemLine("sentence-problem", "problem");
  const targetProblem = problemLine("target-problem", "target-problem");
  const second = { "aria-label": t("pair.label"), placeholder: t("pair.placeholder") };
  const pair = field("pair", { ...second, "aria-describedby": problem.id });
  const about = h("span", { class: "dim about", id: newId("target-about"), dataset: { testid: "target-about" } });
  const parts = {
    input: field("sentence", { "aria-describedby": problem.id, autocapitalize: "sentences" }),
    took: h("span", { class: "dim took", dataset: { testid: "took" } }),
    done: h("button", { class: "btn done", type: "button", dataset: { testid: "done" } }, t("sentence.done")),
    picture: h("div", { class: "picture", hidden: true, dataset: { testid: "picture" } }),
    problem,
    notes: h("div", { class: "notes", role: "status", hidden: true, dataset: { testid: "notes" } }),
    written: h("p", { class: "written", hidden: true, dataset: { testid: "written" } }),
    strip: h("div", { class: "strip" }),
    target: field("target", { "aria-describedby": `${about.id} ${targetProblem.id}` }),
    targetAbout: about,
    targetOwn: h(
      "button",
      {
        class: "btn target-own",
        type: "button",
        hidden: true,
        title: t("target.own"),
        dataset: { testid: "target-own" },
      },
      h("span", { class: "sign", "aria-hidden": true }, "↺"),
      h("span", { class: "word" }, t("target.own")),
    ),
    targetSwitch: h("button", {
      class: "btn target-switch",
      type: "button",
      hidden: true,
      dataset: { testid: "target-switch" },
    }),
    targetProblem,
    targetStrip: h("div", { class: "strip target-strip", hidden: true }),
    edit: h("button", { class: "btn quiet edit", type: "button", dataset: { testid: "edit" } }, t("sentence.edit")),
    addPair: h(
      "button",
      { class: "btn quiet add-pair", type: "button", hidden: true, dataset: { testid: "add-pair" } },
      t("pair.add"),
    ),
    chat: h(
      "button",
      { class: "btn quiet", type: "button", hidden: true, dataset: { testid: "chat" } },
      t("chat.open"),
    ),
    status: h("p", { class: "sr-only", role: "status", "aria-live": "polite" }),
    banner: h("p", { class: "banner", role: "alert", hidden: true, dataset: { testid: "banner" } }),
  };
  const row = h("div", { class: "row" }, parts.input, parts.picture, parts.took, parts.done);
  const pairRow = h("div", { class: "row second-text", hidden: true }, pair);
  const targetRow = h("div", { class: "row target", hidden: true }, parts.target, about);
  const under = h("div", { class: "under" }, parts.strip, parts.edit, parts.addPair, parts.chat);
  const targetUnder = h("div", { class: "under target-under" }, parts.targetStrip, parts.targetOwn, parts.targetSwitch);
  const element = h(
    "section",
    { class: "sentence" },
    ...[row, pairRow, problem, parts.written, parts.notes, under],
    ...[targetRow, targetProblem, targetUnder, parts.status, parts.banner],
  );
  return { element, row, pairRow, pair, targetRow, under, targetUnder, ...parts };
}

/** @param {"sentence"|"pair"|"target"} name @param {object} attrs @returns {HTMLTextAreaElement} */
function field(name, attrs) {
  const words = { "aria-label": t(`${name}.label`), placeholder: t(`${name}.placeholder`) };
  const plain = { rows: 1, autocomplete: "off", spellcheck: "false" };
  return h("textarea", { ...plain, ...words, ...attrs, dataset: { testid: name } });
}

/** @param {string} id @param {string} testid @returns {HTMLElement} */
const problemLine = (id, testid) =>
  h("p", { class: "problem", id: newId(id), role: "alert", hidden: true, dataset: { testid } });
