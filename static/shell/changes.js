/** Changes of the state: each is kept within what its model has, so a change to another model waits for it. */

import { errorText } from "../ui/error_text.js";
import { fitted } from "./start.js";
import { switchedTo } from "./switched.js";

/**
 * @param {import("../page.js").Store} store
 * @param {{models: import("../data/models.js").Models, modelOf: (state: import("../state/store.js").State) => any,
 *   files: ReturnType<typeof import("./file_mode.js").createFileMode>, status: ReturnType<typeof import("./status.js").createStatus>,
 *   declared: import("../state/own.js").Declared[]}} page
 */
export function createChanges(store, { models, modelOf, files, status, declared }) {
  let newest = 0;
  /** @type {string|null} the status before the model that is loading was asked for */
  let earlier = null;
  let mine = false; // the change is made here

  /** @param {import("../state/store.js").Patch} change */
  function make(change) {
    mine = true;
    try {
      store.set(fitted(store.get(), change, modelOf, declared));
    } finally {
      mine = false;
    }
  }

  /** A model that is still loading comes too late. */
  function giveUp() {
    newest++;
    if (earlier !== null) status.show(/** @type {any} */ (earlier));
    earlier = null;
  }
  // Back, and a file that was opened, are newer than a model that was chosen before them.
  store.subscribe(() => mine || giveUp());

  /** Once the model is known: at once, or when it has come and nothing else was chosen. @param {string} name @param {() => void} then */
  async function knowing(name, then) {
    giveUp();
    if (models.named(name)) return then();
    const turn = newest;
    earlier = status.now();
    status.show("loading");
    try {
      await models.load(name, status.waiting);
      if (turn !== newest) return;
      earlier = null;
      then();
    } catch (error) {
      if (turn !== newest) return;
      giveUp();
      status.notice(errorText(/** @type {Error} */ (error)));
    }
  }

  return {
    /** @param {import("../state/store.js").Patch} change */
    set(change) {
      const { model } = files.allowed(change);
      const then = () => make(files.allowed(change));
      if (model) knowing(model, then);
      else then();
    },

    /** The same sentence, read by another model. @param {string} name */
    openModel: (name) => void knowing(name, () => make(files.allowed(switchedTo(models.named(name), store.get())))),

    /** The state was set from elsewhere (Back): know its model, and keep it inside that. @param {() => void} then */
    settle: (then) =>
      knowing(store.get().model ?? models.first, () => {
        make({});
        then();
      }),
  };
}
