/**
 * A picture in a separate file, as `chumoku.show` makes it: the page's modules, mounted without controls. The file has
 * everything; nothing is requested.
 */

import { createBeside } from "./beside.js";
import { createArchive } from "./data/document_source.js";
import { createModels } from "./data/models.js";
import { DECLARED, mount, PICTURES } from "./page.js";
import { fitted } from "./shell/setter.js";
import { stateOf } from "./state/run.js";
import { createStore, DEFAULTS } from "./state/store.js";
import { useCatalogue } from "./ui/i18n.js";

/** @import { Patch, State } from "./state/store.js" */

/**
 * @param {HTMLElement} root
 * @param {{models: any[], run: any, state: Patch, view: string, names: [string, string], texts: Object<string, string>,
 *   answers: Object<string, any>[]}} picture  `models`: whole entries of /api/models; `run`: the one that is shown; `view`: what is
 *   shown of it; `names`: of two runs; `answers`: explanations of each
 * @param {ArrayBuffer[]} tensors  of each run
 */
export async function show(root, { models: entries, run, state, view, names, texts, answers }, tensors) {
  useCatalogue(texts);
  root.dataset.view = view;
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
