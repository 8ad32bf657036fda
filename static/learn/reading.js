/**
 * Two sentences for every panel and station: what it shows, under its title, and how to read it, behind ⓘ. They are
 * `reading.<id>.what` and `reading.<id>.how` in the catalogue; nobody else has to know of them.
 */

import { h, setText, update } from "../ui/dom.js";
import { integer } from "../ui/format.js";
import { hasString, t } from "../ui/i18n.js";
import { keepInMind, remembered } from "../ui/remembered.js";

/** @typedef {{node: HTMLElement, show: (model: any) => void}} Note */

/** Panels that the server renders with their titles. */
const RENDERED = { heads: "#heads-title", masks: "#masks-title" };

/** Those whose second sentence the reader has opened. */
const opened = new Set((remembered("reading.open") ?? "").split(" ").filter(Boolean));

/** @type {WeakMap<Element, Note>} */
const notes = new WeakMap();

/** Whether the sentences are shown at all. */
export const readingIsOn = () => remembered("reading") !== "off";

/** @param {boolean} on */
export function setReading(on) {
  keepInMind("reading", on ? "on" : "off");
  update(document.documentElement, { "data-reading": on ? null : "off" });
}

export function createReading() {
  setReading(readingIsOn());
  const rendered = Object.entries(RENDERED).map(([id, title]) => {
    const note = noteOf(id);
    document.querySelector(title)?.after(note.node);
    return note;
  });
  return (trace) => trace && rendered.forEach((note) => note.show(trace.model));
}

/**
 * After a view has drawn: its note stands under the title that can be seen. One that draws its title anew loses the
 * note with it, so it is put back.
 * @param {Element} root @param {string} id @param {any} model
 */
export function placeReading(root, id, model) {
  if (!hasString(`reading.${id}.what`)) return;
  if (!notes.has(root)) notes.set(root, noteOf(id));
  const { node, show } = /** @type {Note} */ (notes.get(root));
  const title = [...root.querySelectorAll("h1, h2")].find((one) => !one.closest("[hidden]"));
  const anchor = title?.closest(".bar") ?? title;
  if (!anchor && root.firstElementChild !== node) root.prepend(node);
  if (anchor && anchor.nextElementSibling !== node) anchor.after(node);
  show(model);
}

/** @param {string} id @returns {Note} */
function noteOf(id) {
  const what = h("span", { class: "what" });
  const how = h("p", { class: "how", id: `reading-${id}` });
  const toggle = () => {
    if (!opened.delete(id)) opened.add(id);
    keepInMind("reading.open", [...opened].join(" "));
    show();
  };
  const attrs = {
    class: "how-button",
    type: "button",
    "aria-controls": how.id,
    "aria-label": t("reading.how"),
    title: t("reading.how"),
  };
  const button = h("button", { ...attrs, dataset: { testid: "reading-how" }, on: { click: toggle } }, "i");
  const node = h(
    "div",
    { class: "reading", dataset: { testid: "reading", reading: id } },
    h("p", null, what, " ", button),
    how,
  );

  function show() {
    how.hidden = !opened.has(id);
    update(button, { "aria-expanded": opened.has(id) });
  }
  show();
  return {
    node,
    show(model) {
      const vars = { vocab: integer(model.vocab_size) };
      setText(what, t(`reading.${id}.what`, vars));
      setText(how, t(`reading.${id}.how`, vars));
    },
  };
}
