/**
 * What can be done with the tree of texts: write ten continuations, compare two, undo; more rarely name, collapse and prune a branch,
 * save the tree and open one.
 */

import { treeIn } from "../../state/page_fields.js";
import { compact, nodeAt, wayTo } from "../../state/text_tree.js";
import { pairOf } from "../../state/tree_changes.js";
import { h, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { saveText } from "../../ui/save.js";
import { branchEnd, offersPair, placedFrom } from "./tree_layout.js";

/**
 * @import { TextTree } from "../../state/text_tree.js"
 * @import { Actions } from "../view.js"
 * @import { Session } from "./session.js"
 */

/**
 * @param {Session} session @param {Actions} actions @param {HTMLElement[]} zooms
 * @param {{ways: {button: HTMLElement, said: HTMLElement}, restart: HTMLElement}} buttons
 */
export function createTreeTools(session, actions, zooms, { ways, restart }) {
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
  /** The end of the shown branch, which has its name. */
  const end = () => branchEnd(session.tree(), session.here());
  const rename = () => {
    if (session.here() < 0) return;
    if ((nodeAt(session.tree(), end()).name ?? "") !== field.value.trim()) session.rename(end(), field.value);
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
  /** The chosen texts of this sentence. */
  const pair = () => (session.here() < 0 ? [] : pairOf(session.tree(), session.here()));
  /** Whether the other text is known without being chosen. */
  const hasOther = () => pair().length !== 1 && session.fork() !== null;
  const pick = button("pick", () => {
    const isChosen = pair().includes(session.here());
    if (!isChosen && hasOther()) session.compareFork();
    else session.pick(session.here());
  });
  const hint = h("span", { class: "pick-hint", role: "status", dataset: { testid: "tree-pick-hint" } });
  const prune = button("prune", () => session.prune(session.here()));
  const fold = button("fold", () => session.fold(session.here(), !nodeAt(session.tree(), session.here()).folded));
  const undo = button("undo", () => session.undo());
  undo.classList.add("undo");
  const pickAbout = (/** @type {boolean} */ chosen) =>
    chosen ? "tree.unpick" : hasOther() ? "tree.pick_both" : "tree.pick_about";
  const file = createTreeFile(session, actions);
  const row = (/** @type {string} */ label, /** @type {import("../../ui/dom.js").Child[]} */ ...content) =>
    h("div", { class: "tree-tools", role: "group", "aria-label": label }, content);
  const named = (/** @type {string} */ key) => h("h3", null, t(key));
  const place = h("span", { class: "ways-place" }, ways.button);
  return {
    hints: [hint, ways.said],
    node: row(t("tree.title"), h("span", { class: "deeds" }, undo, place, pick), h("span", { class: "zooms" }, zooms)),
    /** Where the button of the continuations stands once there is a tree. */
    ways: place,
    more: [row(t("tree.tools"), named("tree.tools"), h("div", null, field, fold, prune, restart, file.nodes))],
    draw() {
      const tree = session.tree();
      const at = session.here();
      const one = at < 0 ? null : nodeAt(tree, at);
      const chosen = pair();
      setText(hint, chosen.length === 1 ? t(hasTwo(tree, at, chosen) ? "tree.pick_other" : "tree.pick_none") : "");
      hint.hidden = chosen.length !== 1;
      for (const each of [field, prune, fold, undo, ...zooms]) each.hidden = one === null;
      pick.hidden = one === null || chosen.length === 2 || (chosen.length === 0 && !hasOther());
      file.save.hidden = one === null;
      undo.hidden = tree.past.length === 0;
      if (!one) return;
      const isChosen = chosen.includes(at);
      update(pick, { "aria-pressed": isChosen, title: t(pickAbout(isChosen)) });
      if (document.activeElement !== field) field.value = nodeAt(tree, end()).name ?? "";
      update(prune, { "aria-disabled": one.up < 0 ? "true" : null });
      setText(fold, t(one.folded ? "tree.open" : "tree.fold"));
    },
  };
}

/** Whether B can be chosen beside A: the other text may have been pruned. @param {TextTree} tree @param {number} at @param {number[]} chosen */
const hasTwo = (tree, at, chosen) => offersPair(placedFrom(tree, wayTo(tree, at)), chosen);

// As a file: larger than a link may be, and for another browser.

/** Bytes of the largest file that is read: of the most nodes, with the longest names. */
const LARGEST = 5e6;

/** @param {Session} session @param {Actions} actions */
function createTreeFile(session, actions) {
  const said = h("span", { class: "dim", role: "alert", dataset: { testid: "tree-file-said" } });
  const input = h("input", { type: "file", accept: ".json", hidden: true, dataset: { testid: "tree-file" } });
  /** @param {string} name @param {() => void} click */
  const button = (name, click) => {
    const attrs = { class: "btn", type: "button", title: t(`tree.${name}_about`), dataset: { testid: `tree-${name}` } };
    return h("button", { ...attrs, on: { click } }, t(`tree.${name}`));
  };
  const save = button("save", () => {
    const { model } = actions.get();
    const tree = session.tree();
    const own = compact(tree, [wayTo(tree, session.here())[0]]);
    saveText(JSON.stringify({ chumoku: "tree", version: 1, tree: own }), "application/json", `tree-${model}.json`);
  });
  input.addEventListener("change", async () => {
    const [file] = input.files ?? [];
    const problem = file && (await problemOf(file, session, actions));
    setText(said, problem ? t(`tree.file_${problem}`) : "");
    input.value = ""; // the same file may be chosen again
  });
  return { nodes: [said, save, button("load", () => input.click()), input], save };
}

/** Adds a file's tree and goes to its end; or why not. @param {File} file @param {Session} session @param {Actions} actions @returns {Promise<"bad"|"no_model"|null>} */
async function problemOf(file, session, actions) {
  const tree = file.size <= LARGEST ? treeOf(await file.text()) : undefined;
  if (!tree || tree.tip < 0) return "bad";
  const { model } = tree.runs[nodeAt(tree, tree.tip).run];
  if (!actions.models.some(({ name }) => name === model)) return "no_model";
  session.add(tree);
  return null;
}

/** @param {string} json */
function treeOf(json) {
  try {
    return treeIn(JSON.parse(json)?.tree);
  } catch {
    return undefined;
  }
}
