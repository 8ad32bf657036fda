/** The export menu: the open picture, all heads, and the numbers behind them, as files. */

import { retrying } from "../data/ask.js";
import { lazy } from "../data/lazily.js";
import { createPopover } from "../ui/controls.js";
import { h, replace, setText } from "../ui/dom.js";
import { errorText } from "../ui/format.js";
import { t } from "../ui/i18n.js";

/** @import { Context, Draw } from "../page.js" */

const making = lazy(() => import("./export_items.js"));

/** A picture may still be being drawn when the menu opens: how often the menu checks again. */
const [LOOKS, LOOK_MS] = [20, 150];

/** @param {HTMLElement} root @param {Context} context @returns {Draw} */
export function createExport(root, { actions, views, address, modelOf, status, openStation, frame }) {
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
