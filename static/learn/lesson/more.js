/** What a reader of papers asks about a step: folded away, with what is measured once it is opened. */

import { h, replace } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { MEASURES } from "./measures/index.js";
import { filled, nodesOf, said } from "./words.js";

/**
 * @import { Step } from "../../data/lessons.js"
 * @import { Live } from "./live.js"
 */

/**
 * @param {HTMLElement} root @param {Step} step @param {() => Live|null} live
 * @param {(text: string) => (Node|string)[]} mark
 */
export function drawMore(root, { more }, live, mark) {
  if (!more) return replace(root);
  const text = h("p");
  const details = h(
    "details",
    { class: "source", dataset: { testid: "lesson-more" }, on: { toggle: () => details.open && fill() } },
    h("summary", null, t("lesson.more")),
    text,
  );
  replace(root, details);

  async function fill() {
    const asked = live();
    try {
      const found = more?.measure && asked ? await MEASURES[more.measure](asked, more.with ?? {}) : {};
      replace(text, nodesOf(filled(said(/** @type {any} */ (more)), found), mark));
    } catch (error) {
      replace(text, errorText(error));
    }
  }
}
