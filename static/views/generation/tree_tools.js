/** What can be done with the tree of texts: name, collapse and prune a branch, undo, write ten ways on, save it and open it. */

import { nodeAt } from "../../state/text_tree.js";
import { h, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/**
 * @import { State } from "../../state/store.js"
 * @import { Actions } from "../view.js"
 * @import { Session } from "./session.js"
 */

/** @param {Session} session @param {Actions} actions @param {HTMLElement[]} zooms @param {HTMLElement[]} more  other buttons */
export function createTreeTools(session, actions, zooms, more) {
  /** @param {string} name @param {() => void} click */
  const button = (name, click) =>
    h(
      "button",
      {
        class: "btn",
        type: "button",
        title: t(`tree.${name}_about`),
        dataset: { testid: `tree-${name}` },
        on: { click },
      },
      t(`tree.${name}`),
    );
  const rename = () => {
    const at = session.here();
    if (at >= 0 && (nodeAt(actions.get().tree, at).name ?? "") !== field.value.trim()) session.rename(at, field.value);
  };
  const field = h("input", {
    type: "text",
    maxlength: 40,
    class: "branch-name",
    placeholder: t("tree.name"),
    "aria-label": t("tree.name"),
    dataset: { testid: "tree-name" },
    on: { change: rename },
  });
  const pick = button("pick", () => session.pick(session.here()));
  const prune = button("prune", () => session.prune(session.here()));
  const fold = button("fold", () => session.fold(session.here(), !nodeAt(actions.get().tree, session.here()).folded));
  const undo = button("undo", () => session.undo());
  const node = h(
    "div",
    { class: "tree-tools", role: "group", "aria-label": t("tree.tools") },
    more,
    pick,
    field,
    fold,
    prune,
    undo,
    h("span", { class: "grow" }),
    zooms,
  );
  return {
    node,
    /** @param {State} state */
    draw({ tree }) {
      const at = session.here();
      const one = at < 0 ? null : nodeAt(tree, at);
      for (const each of [pick, field, prune, fold, undo, ...zooms]) each.hidden = one === null;
      undo.hidden = tree.past.length === 0;
      if (!one) return;
      const chosen = tree.pair.includes(at);
      update(pick, { "aria-pressed": chosen, title: t(chosen ? "tree.unpick" : "tree.pick_about") });
      if (document.activeElement !== field) field.value = one.name ?? "";
      update(prune, { "aria-disabled": one.up < 0 ? "true" : null });
      setText(fold, t(one.folded ? "tree.open" : "tree.fold"));
    },
  };
}
