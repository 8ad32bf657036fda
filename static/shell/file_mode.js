/**
 * A saved trace is shown read-only: controls that would need the server are locked until the reader goes back to
 * live.
 */

import { FileError, LARGEST } from "../data/file_error.js";
import { lazy } from "../data/lazily.js";
import { sizesOf, trainedCausal } from "../model/description.js";
import { stateOf } from "../state/run.js";
import { DEFAULTS } from "../state/store.js";

/** @import { Patch, State } from "../state/store.js" */

const reading = lazy(() => import("../data/trace_file.js"));

/** What may change while a file is shown. */
const VIEWING = [
  "level",
  "attention",
  "layer",
  "head",
  "query",
  "key",
  "view",
  "own",
  "cell",
  "ffnUnit",
  "quiz",
  "temperature",
  "topK",
  "topP",
  "seed",
  "theme",
  "lang",
];

/** A file closes an open lesson: its steps need the server. */
const NO_LESSON = { lesson: null, lessonStep: 1 };

/**
 * @param {ReturnType<typeof import("../state/store.js").createStore>} store
 * @param {{load: (name: string) => Promise<any>, open: (buffer: ArrayBuffer, name: string) => Promise<{key: string, meta: any, model: any}>}} sources
 */
export function createFileMode(store, sources) {
  /** @type {Partial<State>} what was shown live */
  let before = {};

  const files = {
    /** What an open lesson covers; learn/lesson/control.js says. @returns {Partial<State>} */
    outsideLesson: () => ({}),

    /** @param {File} file @throws {FileError} and then nothing has changed */
    async open(file) {
      if (file.size > LARGEST) throw new FileError("too_large", { limit: LARGEST / 1e6 });
      const buffer = await file.arrayBuffer();
      await reading.load();
      const name = reading.code?.describedBy(buffer) ?? null;
      if (name !== null) await sources.load(name).catch(() => {}); // reading it then reports what is missing
      const { key, meta, model } = await sources.open(buffer, file.name);
      const state = store.get();
      if (state.file === null) before = { ...state, ...files.outsideLesson(), ...NO_LESSON };
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
        level: state.level === "look" ? "understand" : state.level, // no file has a river
        file: key,
      });
    },

    /** Returns to what was shown before; the selection made in the file is kept where it still applies. */
    close() {
      const { view, theme, lang } = store.get();
      store.set({ ...before, view, theme, lang, file: null });
    },

    /**
     * The part of a change that a file allows.
     * @param {Patch} patch @returns {Patch}
     */
    allowed(patch) {
      if (store.get().file === null) return patch;
      return Object.fromEntries(Object.entries(patch).filter(([name]) => VIEWING.includes(name)));
    },
  };
  return files;
}

/** The switches as saved in the file. */
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
