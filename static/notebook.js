/**
 * A picture in a separate file, as `chumoku.show` makes it: the page's modules, mounted without controls. The file has
 * everything; nothing is requested.
 */

import { createBeside } from "./beside.js";
import { createArchive } from "./data/document_source.js";
import { createModels } from "./data/models.js";
import { tokenLabel } from "./model/labels.js";
import { DECLARED, mount, PICTURES } from "./page.js";
import { fitted } from "./shell/setter.js";
import { treeIn } from "./state/page_fields.js";
import { stateOf } from "./state/run.js";
import { createStore, DEFAULTS } from "./state/store.js";
import { nodeAt, textAt, wayTo } from "./state/text_tree.js";
import { folded, picked } from "./state/tree_changes.js";
import { h, replace } from "./ui/dom.js";
import { briefPercent, percent } from "./ui/format.js";
import { t, useCatalogue } from "./ui/i18n.js";
import { createTree } from "./views/generation/tree.js";
import { editOf } from "./views/generation/tree_picture.js";

/**
 * @import { Patch, State } from "./state/store.js"
 * @import { TextTree } from "./state/text_tree.js"
 * @import { Session } from "./views/generation/session.js"
 * @import { Actions } from "./views/view.js"
 */

/**
 * @typedef {{models: any[], run: any, state: Patch, view: string, names: [string, string], texts: Object<string, string>,
 *   answers: Object<string, any>[], tree?: any}} Picture  `models`: whole entries of /api/models; `run`: the one that is shown;
 *   `view`: what is shown of it; `names`: of two runs; `answers`: explanations of each; `tree`: of texts, instead of runs
 */

/** @param {HTMLElement} root @param {Picture} picture @param {ArrayBuffer[]} tensors  of each run */
export async function show(root, picture, tensors) {
  useCatalogue(picture.texts);
  root.dataset.view = picture.view;
  if (picture.tree) return showTree(root, picture);
  return showTraces(root, picture, tensors);
}

/** @param {HTMLElement} root @param {Picture} picture @param {ArrayBuffer[]} tensors */
async function showTraces(root, { models: entries, run, state, names, answers }, tensors) {
  const archive = createArchive(
    entries,
    tensors.map((body, index) => ({ tensors: body, answers: answers[index] })),
  );
  const models = createModels({ default: entries[0].name, models: entries }, archive);
  const first = { ...DEFAULTS, ...stateOf(run), ...state };
  const store = createStore(/** @type {State} */ (first));
  store.set(fitted(store.get(), first, ({ model }) => models.named(model), DECLARED));
  const pictures = state.beside ? PICTURES : [...PICTURES, "inspector"]; // two runs are wide enough
  const options = { models, examples: { examples: [] }, api: archive };
  /** @type {ReturnType<typeof createBeside>|null} */
  let second = null;
  const page = mount(root, store, { ...options, pictures, onTrace: () => void second?.follow(store.get()) });
  if (state.beside) {
    second = createBeside(root, store, page, { ...options, names });
    store.subscribe(() => void second?.follow(store.get()));
    await second.follow(store.get());
  }
  await page.drawn;
}

// A tree of texts: walked, folded and compared. Below it stands the text at the chosen node, or both that are compared.

/**
 * Where the reader of a document is in its tree. Nothing is pruned or written.
 * @param {TextTree} given @param {() => void} onChange
 */
function createReading(given, onChange) {
  let [tree, here] = [given, given.tip < 0 ? 0 : given.tip];
  /** @param {() => void} change */
  const then = (change) => {
    change();
    onChange();
  };
  return {
    here: () => here,
    tree: () => tree,
    path: () => textAt(tree, here),
    /** A reader stands at the last token of the text. @param {{ids: number[]}} path */
    chosen: ({ ids }) => ids.length - 1,
    /** How a token is written; one that the file does not name is its id. @param {number} id */
    word: (id) => ({ id, ...(tree.words[id] ?? { text: `#${id}`, bytes: "", partial: false, special: false }) }),
    /** @param {number} at */
    goTo: (at) =>
      then(() => {
        here = at;
        if (!wayTo(tree, tree.tip).includes(at)) tree = { ...tree, tip: at };
      }),
    /** @param {number} at @param {boolean} folds */
    fold: (at, folds) =>
      then(() => {
        tree = folded(tree, at, folds);
      }),
    /** @param {number} at */
    pick: (at) =>
      then(() => {
        tree = picked(tree, at);
      }),
    prune() {},
    /** What else could have been written, a file does not say. @returns {never[]} */
    offered: () => [],
    askOffered() {},
  };
}

/**
 * @param {HTMLElement} root
 * @param {{tree?: any, models: any[]}} picture  `tree`: as a saved file has it; `models`: the entry of the one that wrote it
 */
function showTree(root, { tree: saved, models: [model] }) {
  const given = treeIn(saved);
  if (!given) throw new Error(t("tree.file_bad"));
  const trace = /** @type {any} */ ({ model, attentions: [], sides: {} }); // tokens of an edit are named by their index
  const reading = createReading(given, draw);
  const actions = /** @type {Actions} */ (/** @type {unknown} */ ({ get: () => DEFAULTS }));
  const player = /** @type {any} */ ({ pause() {} });
  const tree = createTree(/** @type {Session} */ (/** @type {unknown} */ (reading)), player, actions);
  const texts = h("div", { class: "document-texts", role: "status" });
  const tools = h("div", { class: "tree-tools" }, h("span", { class: "grow" }), tree.zooms);
  const title = h("h1", null, t("tree.title"), h("span", { class: "dim" }, ` ${model.name}`));
  replace(root, h("main", { class: "panel generation tree-document" }, title, tools, tree.node, texts));
  draw();
  root.dataset.state = "ready";

  function draw() {
    tree.draw(trace, DEFAULTS);
    const now = reading.tree();
    const shown = now.pair.length ? now.pair : [reading.here()];
    replace(
      texts,
      shown.map((at, i) => textOf(at, now.pair.length ? ["A", "B"][i] : "")),
    );
  }

  /** A text, each written token with its probability. @param {number} at @param {string} letter */
  function textOf(at, letter) {
    const now = reading.tree();
    const { nPrompt } = textAt(now, at);
    const nodes = wayTo(now, at).map((one) => ({ ...nodeAt(now, one), at: one }));
    const tokens = nodes.flatMap((node) =>
      node.how === "edited"
        ? [h("em", { class: "dim" }, ` ${editOf(/** @type {any} */ ({ tree: now, trace }), node.at)} `)]
        : node.ids.map((id) => tokenOf(reading.word(id), node.p)),
    );
    const attrs = {
      translate: "no",
      dataset: { testid: "document-text", text: textAt(now, at).ids.join("."), prompt: nPrompt },
    };
    return h("p", attrs, letter && h("b", { class: letter.toLowerCase() }, `${letter} `), tokens);
  }
}

/** @param {any} token @param {number|undefined} p */
const tokenOf = (token, p) =>
  h(
    "span",
    { class: "document-token", title: p === undefined ? null : `${tokenLabel(token)} · ${percent(p)}` },
    tokenLabel(token).replace(/^·(?=.)/, ""), // a token begins where the one before ends
    p !== undefined && h("small", { class: "dim" }, briefPercent(p)),
  );
