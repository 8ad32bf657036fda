/** The page without a sentence: what the app is, and examples (static/examples.json). */

import { isEmpty } from "../model/selection.js";
import { linkOf } from "../state/link.js";
import { DEFAULTS } from "../state/store.js";
import { h, replace } from "../ui/dom.js";
import { language, t } from "../ui/i18n.js";

/** @param {import("../page.js").Context} context @returns {import("../page.js").Draw} */
export function createExamples({ actions, examples, models, frame }) {
  const { welcome: root, offer, opened } = frame;
  const isLoaded = ({ model }) => !model || models.some(({ name }) => name === model);
  replace(
    root,
    h("h1", null, t("welcome.title")),
    h("p", { class: "about" }, t("welcome.about")),
    offer,
    h("h2", null, t("welcome.start")),
    h(
      "div",
      { class: "cards" },
      examples.examples.filter(isLoaded).map((example) => card(example, actions, opened)),
    ),
  );
  return (trace, state) => {
    root.hidden = !isEmpty(state);
  };
}

/** The change that shows an example, whatever is open. @returns {import("../state/store.js").Patch} */
export function patchOf({ see, at_least: claim, ...opened }) {
  const { theme, type, lang, file, quiz, ...fresh } = DEFAULTS; // everything except the reader's settings
  return { ...fresh, own: null, ...opened }; // an example has fields of the state
}

/** A card is a link, so that it can also be opened in a new tab. */
function card(example, actions, opened) {
  const { see } = example;
  const patch = patchOf(example);
  const { model, text, layer, head } = patch;
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    actions.set(patch);
    opened.focus({ preventScroll: true });
  };
  return h(
    "a",
    {
      class: "card",
      href: linkOf({ ...DEFAULTS, ...patch, own: {} }, []),
      dataset: { testid: "example" },
      on: { click: open },
    },
    h("span", { class: "text", lang: "en" }, text),
    h("span", { class: "see" }, see[language()]),
    h(
      "span",
      { class: "role" },
      [model, t("welcome.open", { layer: layer ?? 0, head: head ?? 0 })].filter(Boolean).join(" · "),
    ),
  );
}
