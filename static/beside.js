/**
 * The same sentence in another model: a second page next to the first. Each follows what is chosen in the other. Which
 * tokens correspond by their characters is known only once both are traced, so the pages follow each other then, too.
 */

import { askedBack, besideModel, besideOf, byCharacters, isBeside, sameTokens } from "./model/compare/beside.js";
import { isEmpty } from "./model/selection.js";
import { DECLARED, mount } from "./page.js";
import { fitted } from "./shell/setter.js";
import { createStore } from "./state/store.js";
import { h } from "./ui/dom.js";
import { errorText } from "./ui/format.js";
import { t } from "./ui/i18n.js";

/**
 * @import { Models } from "./data/models.js"
 * @import { Server, Store } from "./page.js"
 * @import { State } from "./state/store.js"
 */

/**
 * @param {HTMLElement} root  of the first page @param {Store} store @param {ReturnType<typeof mount>} page
 * @param {{models: Models, examples: any, api?: Server, names?: [string, string]}} options
 *   the first page's; `names`: over the panels, if not those of the models
 */
export function createBeside(root, store, page, options) {
  const { models } = options;
  const element = h("div", { class: "page second", hidden: true });
  /** @type {{store: Store, page: ReturnType<typeof mount>}|null} */
  let second = null;
  let following = false; // the second page is being set to what the first one shows

  const named = (/** @type {Pick<State, "model">} */ { model }) => models.named(model);

  /** From the tokens of one page to the other's. @param {boolean} back */
  function aligned(back) {
    const [a, b] = [page.shown(), second?.page.shown()];
    if (!a || !b || sameTokens(a.model, b.model)) return (/** @type {number|null} */ index) => index;
    const [from, to] = (back ? [b, a] : [a, b]).map((one) => ({ tokens: one.sides.source.tokens, text: one.readText }));
    return byCharacters(from, to);
  }

  /** What the second page shows. @param {State} state @returns {State} */
  function stateBeside(state) {
    const found = { a: named(state), b: models.named(besideModel(state)) };
    const next = besideOf(state, found, { spelled: page.shown()?.text ?? state.text, at: aligned(false) });
    return /** @type {State} */ ({ ...next, ...fitted(next, next, named, DECLARED), viewState: next.viewState });
  }

  /** @param {State} state */
  function namesOver(state) {
    const [a, b] = [state.model, besideModel(state)].map((one) => one ?? models.first);
    return a === b ? ["changed", "as_it_is"].map((how) => t(`beside.${how}`, { model: a })) : [a, b];
  }

  /** @param {State} state */
  function open(state) {
    element.hidden = false;
    root.classList.add("beside-on");
    const names = options.names ?? namesOver(state);
    [root, element].forEach((one, i) => {
      one.style.setProperty("--model-name", JSON.stringify(names[i]));
    });
    if (second) return second.store.replace(stateBeside(state));
    root.append(element);
    const own = createStore(stateBeside(state));
    second = {
      store: own,
      page: mount(element, own, { ...options, second: true, onTrace: () => follow(store.get()) }),
    };
    own.subscribe((now, before) => following || answer(now, before));
  }

  /** Lets the first page follow what was chosen in the second. @param {State} now @param {State} before */
  function answer(now, before) {
    const state = store.get();
    page.set(askedBack(state, { state: now, previous: before }, { a: named(state), b: named(now) }, aligned(true)));
  }

  function close() {
    element.hidden = true;
    root.classList.remove("beside-on");
  }

  /** @param {State} state */
  async function follow(state) {
    if (!isBeside(state) || isEmpty(state)) return close();
    const model = besideModel(state);
    try {
      await Promise.all([models.load(model ?? models.first), models.load(state.model ?? models.first)]);
    } catch (error) {
      return page.status.notice(errorText(error));
    }
    if (store.get() !== state) return; // a newer choice is being loaded
    if (!models.named(model)) return close();
    following = true;
    try {
      open(state);
    } finally {
      following = false;
    }
  }

  return { follow };
}
