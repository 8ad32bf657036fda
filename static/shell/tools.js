/** The menu of tools, and what is no place in the model: it opens as a drawer, with the river in sight. */

import { createPopover } from "../ui/controls.js";
import { h, lowSheet, replace, setText, update } from "../ui/dom.js";
import { keyFor, t } from "../ui/i18n.js";
import { VIEWS } from "../views/index.js";
import { PANELS } from "../views/panels.js";
import { opensLow, placeNamed } from "../views/places.js";
import { hasView } from "../views/view.js";

/**
 * @import { Context, Follow } from "../page.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { PanelTool, ToolGroup } from "../views/view.js"
 */

/** @typedef {{id: string, group: ToolGroup, title: string, patch: (state: State) => Patch, isOpen: (state: State) => boolean, run?: () => void}} Tool */

/** @param {State} state @param {any} model @returns {Tool[]} */
function toolsOf(state, model) {
  const views = VIEWS.filter((view) => placeNamed(view.id) === "tools" && hasView(view, model, state));
  // On a phone the dock folds the buttons of its drawers away, with the settings of sampling.
  const onPhone = matchMedia("(max-width: 760px)").matches;
  const drawers = PANELS.filter(
    (panel) => panel.frame.tool && (onPhone || !panel.frame.onPhone) && hasView(panel, model, state),
  );
  const examples = opens("examples", "compare", "tools.examples", model);
  return [
    examples,
    ...drawers.flatMap(({ id, frame, tools }) => {
      const group = /** @type {ToolGroup} */ (frame.tool);
      if (tools) return tools(model).map((tool) => toolOf(tool, group));
      return [opens(id, group, frame.onPhone ? `dock.${id}` : (frame.title ?? ""), model)];
    }),
    ...views.map(({ id }) => ({
      id,
      group: /** @type {const} */ ("compare"),
      title: t(`tools.${id}`),
      patch: () => ({ view: id }),
      isOpen: (/** @type {State} */ { view }) => view === id,
    })),
  ];
}

/** A drawer that has one entry. @param {string} id @param {ToolGroup} group @param {string} title @param {any} model @returns {Tool} */
const opens = (id, group, title, model) => ({
  id,
  group,
  title: t(keyFor(model, title)),
  patch: ({ drawer }) => ({ drawer: drawer === id ? null : id }),
  isOpen: ({ drawer }) => drawer === id,
});

/** A part of a drawer; chosen again, it closes. @param {PanelTool} tool @param {ToolGroup} group @returns {Tool} */
const toolOf = ({ id, title, patch, isOpen }, group) => ({
  ...{ id, group, title: t(title), isOpen },
  patch: (state) => (isOpen(state) ? { drawer: null } : patch),
});

/** What the open drawer is called: as the tool that opens it. @param {State} state @param {any} model */
function nameOf(state, model) {
  const [first] = PANELS.find(({ id }) => id === state.drawer)?.tools?.(model) ?? [];
  return toolsOf(state, model).find(({ isOpen }) => isOpen(state))?.title ?? (first ? t(first.title) : "");
}

/** A room for a class, which is not in the state. @param {NonNullable<Context["door"]>} door @returns {Tool} */
const teaching = (door) => ({
  ...{ id: "teach", group: "compare", title: t("tools.teach"), patch: () => ({}), isOpen: () => door.isTeaching() },
  run: door.teach,
});

/** @param {Context} context @returns {Follow} */
export function createTools({ actions, frame, modelOf, door }) {
  const { menu, button, panel, groups } = frame.path;
  const fill = () => {
    const state = actions.get();
    const tools = [...toolsOf(state, modelOf(state)), ...(door ? [teaching(door)] : [])];
    for (const [name, { items }] of Object.entries(groups)) {
      const own = tools.filter(({ group }) => group === name);
      replace(
        items,
        own.map((tool) => itemOf(tool, state)),
      );
    }
  };
  /** @param {Tool} tool @param {State} state */
  function itemOf(tool, state) {
    const click = () => {
      popover.close();
      if (tool.run) tool.run();
      else actions.set(tool.patch(actions.get()));
    };
    const data = { testid: `tool-${tool.id}` };
    return h(
      "button",
      { type: "button", "aria-pressed": tool.isOpen(state), dataset: data, on: { click } },
      tool.title,
      h("small", null, t(`tools.about.${tool.id}`)),
    );
  }
  const popover = createPopover(menu, /** @type {HTMLButtonElement} */ (button), panel, fill);
  let beside = actions.get().beside; // which the menu chooses
  const { drawer: root } = frame;
  const close = h("button", {
    class: "btn icon close-drawer",
    type: "button",
    "aria-label": t("tools.close"),
    title: t("tools.close"),
    dataset: { testid: "close-drawer" },
    on: { click: () => actions.set({ drawer: null }) },
  });
  close.append("×");
  // On a phone a line of its own, which stays while the sheet scrolls: css/layout.css.
  const name = h("h2", { class: "sheet-name" });
  const head = h("div", { class: "sheet-head" }, name, close);
  root.prepend(head);
  const sight = createSight(frame);
  return (state) => {
    const { drawer, file, lesson } = state;
    if (state.beside !== beside) popover.close(); // it lies below the menu
    beside = state.beside;
    sight(state); // before the sheet changes where the page is
    update(root, { hidden: drawer === null && lesson === null });
    root.classList.toggle("low", opensLow(state));
    menu.hidden = lesson !== null;
    head.hidden = drawer === null;
    setText(name, drawer === null ? "" : nameOf(state, modelOf(state)));
    button.title = file === null ? "" : t("open.locked");
  };
}

/** Between the chosen row and the sheet below it. */
const AIR = 14;

/**
 * What a low sheet speaks of stays in sight: of an open head the chosen row. Where the page was scrolled to when it opened, it is again
 * when it closes.
 * @param {Context["frame"]} frame @returns {Follow}
 */
function createSight({ root, opened, drawer }) {
  const phone = matchMedia("(max-width: 700px), (max-width: 1000px) and (max-height: 500px)"); // there every sheet covers the page: css/layout.css
  let over = /** @type {{view: string, scrolled: number}|null} */ (null);
  const show = (opens = false) => {
    const chosen = over && opened.querySelector("rect.chosen");
    if (!chosen?.checkVisibility() || !lowSheet(drawer)) return;
    const under = chosen.getBoundingClientRect().bottom + AIR - drawer.getBoundingClientRect().top;
    const by = Math.max(0, under);
    if (by === 0 && !opens) return; // the reader may have scrolled
    scrollBy({ top: by + wholeRows(opened, chosen, by), behavior: "instant" });
  };
  new ResizeObserver(() => show()).observe(opened);
  return (state) => {
    if (root.ownerDocument.body !== root) return;
    const was = over;
    const covers = opensLow(state) || (state.drawer !== null && phone.matches);
    over = covers ? (was ?? { view: state.view, scrolled: scrollY }) : null;
    const opens = was === null;
    if (over)
      for (const then of [requestAnimationFrame, after]) then(() => show(opens)); // what stays above is measured in between
    // With the layout of the next frame, in which the page is as high as it was.
    else if (was?.view === state.view)
      after(() => over === null && scrollTo({ top: was.scrolled, behavior: "instant" }));
  };
}

/** How much further a matrix goes, or less far, so that its names of columns stand over a whole row. @param {HTMLElement} opened @param {Element} chosen @param {number} by  how far it goes */
function wholeRows(opened, chosen, by) {
  const head = opened.querySelector(".matrix-head");
  const rows = [...opened.querySelectorAll(".row-label")].map((one) => one.getBoundingClientRect().bottom);
  const pitch = Math.min(...rows.slice(1).map((bottom, i) => bottom - rows[i]));
  if (!head || !Number.isFinite(pitch)) return 0;
  const { position, top } = getComputedStyle(head);
  if (position !== "sticky") return 0; // it goes with the page (css/matrix.css)
  const under = Number.parseFloat(top) + head.getBoundingClientRect().height; // where it stays
  if (head.getBoundingClientRect().bottom - by > under + 1) return 0; // nothing is under it
  const over = (chosen.getBoundingClientRect().top + 1 - by - under) % pitch; // 1: its frame is that much larger
  return pitch - over < AIR / 2 ? over - pitch : over;
}

/** @param {() => void} act */
const after = (act) => requestAnimationFrame(() => requestAnimationFrame(act));
