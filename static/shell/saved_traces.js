/**
 * A saved trace is shown read-only: controls that would need the server are locked until the reader goes back to
 * live.
 */

import { FileError, LARGEST } from "../data/file_error.js";
import { lazy } from "../data/lazily.js";
import { sizesOf, trainedCausal } from "../model/description.js";
import { readsPhotos } from "../model/patches.js";
import { stateOf } from "../state/run.js";
import { DEFAULTS } from "../state/store.js";
import { h, replace, setText } from "../ui/dom.js";
import { errorText, integer } from "../ui/format.js";
import { sizeOf } from "../ui/heads.js";
import { hasString, phrase, t } from "../ui/i18n.js";

/**
 * @import { ModelTrace } from "../data/model_trace.js"
 * @import { Model } from "../model/description.js"
 * @import { Context, Draw } from "../page.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Frame } from "./frame.js"
 */

// Opening a saved trace: the file chooser, dropping one onto the page, and the banner while one is shown.

/** @param {Context} context @returns {Draw} */
export function createOpen(context) {
  const { files, status, frame, takers } = context;
  const { element: root, input } = frame.files;
  const about = h("p", { dataset: { testid: "file-banner" } });
  const back = h(
    "button",
    { class: "btn", type: "button", dataset: { testid: "back-to-live" }, on: { click: files.close } },
    t("open.back"),
  );
  const banner = h(
    "div",
    { class: "file-banner", role: "region", "aria-label": t("open.mode"), hidden: true },
    about,
    back,
  );
  const problem = problemBox();
  replace(root, input, banner, problem.node);

  /** @param {File[]} list */
  async function open(list) {
    problem.show("");
    try {
      if (list.length !== 1) return problem.show(t("open.error.several"));
      await files.open(list[0]);
      banner.hidden = false;
      back.focus();
    } catch (error) {
      problem.show(problemText(list[0].name, error));
    }
  }
  input.addEventListener("change", async () => {
    await open([...(input.files ?? [])]);
    input.value = ""; // the same file may be chosen again
  });
  followDrops(context, (list) => {
    if (list.length !== 1 || !takers.take(list[0])) open(list);
  });

  let said = "";
  return (trace, state) => {
    const shown = state.file !== null && trace?.file ? trace : null;
    banner.hidden = state.file === null;
    lock(frame, state.file !== null);
    if (shown && shown.key !== said) {
      replace(about, ...aboutOf(shown));
      status.say(about.textContent);
    }
    said = shown?.key ?? "";
  };
}

/** @param {ModelTrace} trace */
function aboutOf({ file, model, sides }) {
  const n = sides.source.tokens.length + (sides.target?.tokens.length ?? 0);
  const vars = { model: h("b", null, model.name), n: integer(n), ...sizeOf(model) };
  return phrase("open.banner", { ...vars, file: h("b", { class: "mono" }, file) });
}

/** The functions that may take a dropped file before it is opened as a saved trace. */
export function createTakers() {
  /** @type {Set<(file: File) => boolean>} */
  const takers = new Set();
  return {
    /** @param {(file: File) => boolean} taker  whether it has taken the file */
    add: (taker) => void takers.add(taker),
    /** @param {File} file @returns {boolean} */
    take: (file) => [...takers].some((taker) => taker(file)),
  };
}

/** The error, and what to do about it. @param {string} file @param {any} error */
function problemText(file, error) {
  const key = `open.error.${error.code}`;
  const known = error.code && hasString(key);
  if (!known) console.error(error);
  return t("open.failed", { file, why: known ? t(key, error.vars) : errorText(error) });
}

function problemBox() {
  const text = h("p", { role: "alert", dataset: { testid: "file-problem" } });
  const close = h("button", { class: "btn", type: "button", on: { click: () => show("") } }, t("open.dismiss"));
  const node = h("div", { class: "file-banner bad", hidden: true }, text, close);
  const show = (/** @type {string} */ words) => {
    node.hidden = words === "";
    setText(text, words);
  };
  return { node, show };
}

/** Locks what needs the server until the reader goes back, and says why. @param {Frame} frame @param {boolean} locked */
function lock({ header, masks, panels, sentence: { input } }, locked) {
  for (const part of [masks.switches, panels.generation, header.model, header.share]) {
    if (part.inert === locked) continue;
    part.inert = locked;
    part.title = locked ? t("open.locked") : "";
    if (part !== panels.generation) continue;
    if (locked) part.before(h("p", { class: "locked-note" }, t("open.locked")));
    else if (part.previousElementSibling?.matches(".locked-note")) part.previousElementSibling.remove();
  }
  input.readOnly = locked;
  input.title = locked ? t("open.locked_sentence") : "";
}

/** A file can be dropped anywhere on the page. @param {Context} context @param {(files: File[]) => void} open */
function followDrops(context, open) {
  const { frame, ground, modelOf, actions } = context;
  const words = h("p");
  const target = h("div", { class: "drop-here", hidden: true, dataset: { testid: "drop" } }, words);
  frame.root.append(target);
  const isFile = (/** @type {Event} */ event) => /** @type {DragEvent} */ (event).dataTransfer?.types.includes("Files");
  ground.addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    const elsewhere = event.defaultPrevented; // a page within this one has it
    event.preventDefault();
    if (elsewhere) {
      target.hidden = true;
      return;
    }
    const state = actions.get();
    setText(words, t(state.file === null && readsPhotos(modelOf(state)) ? "photo.drop" : "open.drop"));
    target.hidden = false;
  });
  const covers = /** @type {Node} */ (ground);
  ground.addEventListener("dragleave", (event) => {
    target.hidden ||= !covers.contains(/** @type {Node|null} */ (/** @type {DragEvent} */ (event).relatedTarget));
  });
  ground.addEventListener("drop", (event) => {
    target.hidden = true;
    if (!isFile(event) || event.defaultPrevented) return;
    event.preventDefault(); // otherwise the browser opens the file instead of the page
    open([.../** @type {DataTransfer} */ (/** @type {DragEvent} */ (event).dataTransfer).files]);
  });
}

const reading = lazy(() => import("../data/trace_file.js"));

/** A file closes an open lesson: its steps need the server. */
const NO_LESSON = { lesson: null, lessonStep: 1 };

/**
 * @param {ReturnType<typeof import("../state/store.js").createStore>} store
 * @param {{load: (name: string) => Promise<any>, open: (buffer: ArrayBuffer, name: string) => Promise<{key: string, meta: any, model: any}>}} sources
 * @param {(state: State) => Partial<State>} [outside]  the change that leads out of an open lesson
 */
export function createFileMode(store, sources, outside = () => ({})) {
  /** @type {Partial<State>} what was shown live */
  let before = {};

  return {
    /** @param {File} file @throws {FileError} and then nothing has changed */
    async open(file) {
      if (file.size > LARGEST) throw new FileError("too_large", { limit: LARGEST / 1e6 });
      const buffer = await file.arrayBuffer();
      await reading.load();
      const name = reading.code?.describedBy(buffer) ?? null;
      if (name !== null) await sources.load(name).catch(() => {}); // reading it then reports what is missing
      const { key, meta, model } = await sources.open(buffer, file.name);
      const state = store.get();
      if (state.file === null) before = { ...state, ...(state.lesson !== null && outside(state)), ...NO_LESSON };
      store.set({
        text: "",
        ids: null,
        pixels: null,
        nPrompt: null,
        target: null,
        targetIds: null,
        query: null,
        key: null,
        compare: false,
        ...NO_LESSON,
        ...switchesOf(meta, model),
        attention: null,
        layer: Math.min(state.layer, sizesOf(model).layers - 1),
        head: Math.min(state.head, sizesOf(model).heads - 1),
        file: key,
      });
    },

    /** Returns to what was shown before; the selection made in the file is kept where it still applies. */
    close() {
      const { view, theme, lang } = store.get();
      store.set({ ...before, view, theme, lang, file: null });
    },
  };
}

/** The switches as saved in the file. @param {any} meta  of a trace @param {Model} model */
function switchesOf({ masks, pad, run }, model) {
  const { count = 0, side = "left", follow = true, hidden = [] } = pad ?? {};
  const causal = masks.causal === trainedCausal(model) ? null : masks.causal;
  const { interventions } = stateOf(run);
  const all = {
    causal,
    padMask: masks.padding ?? true,
    padCount: count,
    padSide: side,
    padFollow: follow,
    hidden,
    interventions,
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => name in DEFAULTS));
}
