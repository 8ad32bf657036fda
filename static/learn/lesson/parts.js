/** The elements of an open lesson: its words, its bar, the space for its figure. */

import { h, newId } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/** @typedef {ReturnType<typeof buildLessonParts>} Parts */

/** @param {{go: (by: number) => void, next: () => void, leave: () => void, notes: () => void, extra: () => void, print: () => void}} on */
export function buildLessonParts({ go, next: goOn, leave, notes: toggleNotes, extra: toggleExtra, print }) {
  const button = (/** @type {string} */ name, /** @type {string} */ kind, /** @type {() => void} */ click) =>
    h(
      "button",
      { class: kind, type: "button", dataset: { testid: `lesson-${name}` }, on: { click } },
      t(`lesson.${name}`),
    );
  const count = h("span", { class: "lesson-count" });
  const close = h("button", {
    class: "close-x",
    type: "button",
    "aria-label": t("lesson.leave"),
    title: t("lesson.leave"),
    dataset: { testid: "lesson-leave" },
    on: { click: leave },
  });
  const title = h("h1", { id: newId("lesson-title"), tabindex: -1 });
  const words = h("div", { class: "lesson-words" });
  const trying = h("p", { class: "lesson-try" });
  const question = h("section", { class: "lesson-question", "aria-label": t("lesson.question") });
  const more = h("div", { class: "lesson-more" });
  const source = h("div", { class: "lesson-source" });
  const extra = h("aside", { class: "lesson-extra", hidden: true, "aria-label": t("lesson.extra") }, more, source);
  const notes = h("aside", {
    class: "lesson-notes",
    hidden: true,
    "aria-label": t("lesson.notes_title"),
    dataset: { testid: "lesson-speaker" },
  });
  const said = h("p", { class: "sr-only", "aria-live": "polite" });
  const head = h("div", { class: "lesson-head" }, count, close);
  const told = h(
    "div",
    { class: "lesson-told", tabindex: 0, role: "group", "aria-labelledby": title.id },
    title,
    words,
    trying,
    extra,
    notes,
  );
  const attrs = { class: "lesson", "aria-labelledby": title.id, dataset: { testid: "lesson" } };
  const text = h("section", attrs, head, told, question, said);
  const dots = h("nav", { class: "lesson-dots", "aria-label": t("lesson.steps") });
  const back = button("back", "btn", () => go(-1));
  const next = button("next", "btn primary", goOn);
  const toggles = {
    extra: button("extra", "btn quiet", toggleExtra),
    notes: button("notes", "btn quiet", toggleNotes),
  };
  const bar = h(
    "div",
    { class: "lesson-bar" },
    back,
    dots,
    next,
    h("span", { class: "grow" }),
    toggles.extra,
    toggles.notes,
    Object.assign(button("print", "btn quiet", print), { title: t("lesson.print_about") }),
  );
  const figure = h("section", {
    class: "lesson-figure",
    "aria-live": "off",
    hidden: true,
    dataset: { testid: "lesson-figure" },
  });
  const paper = h("section", { class: "lesson-print" });
  return {
    text,
    count,
    title,
    words,
    told,
    trying,
    question,
    extra,
    more,
    source,
    notes,
    said,
    bar,
    dots,
    back,
    next,
    toggles,
    figure,
    paper,
  };
}
