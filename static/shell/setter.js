/** Sets the state. Each change is fitted to its model, so a change of the model waits until it is loaded. */

import { baseOf } from "../model/snapshots.js";
import { errorText } from "../ui/format.js";
import { firstHead, fitted, inputFor, switchedTo } from "./start.js";

/**
 * @import { Models } from "../data/models.js"
 * @import { Store } from "../page.js"
 * @import { Patch, State } from "../state/store.js"
 * @import { Declared } from "../state/view_state.js"
 * @import { Card } from "./start.js"
 */

/**
 * @param {Store} store
 * @param {{models: Models, modelOf: (state: State) => any,
 *   files: ReturnType<typeof import("./saved_traces.js").createFileMode>, status: ReturnType<typeof import("./status.js").createStatus>,
 *   declared: Declared[], examples: {examples: Card[]}}} page
 */
export function createSetter(store, { models, modelOf, files, status, declared, examples }) {
  let newest = 0;
  /** @type {string|null} the status before the model began to load */
  let earlier = null;
  let mine = false; // applies the change

  /** @param {Patch} change */
  function make(change) {
    mine = true;
    try {
      store.set(fitted(store.get(), change, modelOf, declared));
    } finally {
      mine = false;
    }
  }

  /** Gives up a model that is still loading. */
  function giveUp() {
    newest++;
    if (earlier !== null) status.show(/** @type {any} */ (earlier));
    earlier = null;
  }
  // Back, or opening a file, is newer than the model chosen before it.
  store.subscribe(() => mine || giveUp());

  /**
   * Runs `then` once the model is known, unless something else was chosen meanwhile. A snapshot that there is not is said to be so.
   * @param {string} name @param {() => void} then @param {() => void} [instead]  of a snapshot that there is not
   */
  async function knowing(name, then, instead) {
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
      if (/** @type {any} */ (error).code === "unknown_snapshot") instead?.();
    }
  }

  return {
    /** @param {Patch} change */
    set(change) {
      const { model } = files.allowed(change);
      const then = () => make(files.allowed(change));
      if (model) knowing(model, then);
      else then();
    },

    /** Opens another model with the same sentence. @param {string} name */
    openModel(name) {
      const patch = () => {
        const [model, state] = [models.named(name), store.get()];
        return { ...firstHead(examples, name), ...switchedTo(model, state), ...inputFor(model, state, examples) };
      };
      knowing(name, () => make(files.allowed(patch())));
    },

    /** After the state was set from elsewhere (Back): loads its model and fits the state to it. @param {() => void} then */
    settle(then) {
      const name = store.get().model ?? models.first;
      const fit = (patch) => () => {
        make(patch);
        then();
      };
      const model = baseOf(name);
      knowing(name, fit({}), () => knowing(model, fit({ model })));
    },
  };
}
