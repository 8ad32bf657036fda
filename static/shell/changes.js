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

  /** @param {import("../state/store.js").Patch} change */
  const make = (change) => store.set(fitted(store.get(), files.allowed(change), modelOf, declared));

  /** Once the model is known: at once, or when it has come and no other was chosen. @param {string} name @param {() => void} then */
  async function knowing(name, then) {
    const mine = ++newest;
    if (models.named(name)) return then();
    const before = status.now();
    status.show("loading");
    try {
      await models.load(name, status.waiting);
      if (mine === newest) then();
    } catch (error) {
      if (mine !== newest) return;
      status.show(before);
      status.notice(errorText(/** @type {Error} */ (error)));
    }
  }

  return {
    /** @param {import("../state/store.js").Patch} change */
    set(change) {
      const { model } = files.allowed(change);
      if (model) knowing(model, () => make(change));
      else make(change);
    },

    /** The same sentence, read by another model. @param {string} name */
    openModel: (name) => void knowing(name, () => make(switchedTo(models.named(name), store.get()))),

    /** The state was set from elsewhere (Back): know its model, and keep it inside that. @param {() => void} then */
    settle: (then) =>
      knowing(store.get().model ?? models.first, () => {
        store.set(fitted(store.get(), {}, modelOf, declared));
        then();
      }),
  };
}
