/**
 * Two sentences for every panel and station: what it shows, under its title, and how to read it, under ⓘ. They are
 * `reading.<id>.what` and `reading.<id>.how` in the catalogue; no other code needs to know about them.
 */

import { lazy } from "../data/lazily.js";
import { h, newId, replace, setText, update } from "../ui/dom.js";
import { integer } from "../ui/format.js";
import { hasString, keyFor, t } from "../ui/i18n.js";
import { keepInMind, remembered } from "../ui/remembered.js";
import { isModel } from "../views/places.js";

/**
 * @import { Context, Draw } from "../page.js"
 * @import { State } from "../state/store.js"
 */

/** @typedef {{node: HTMLElement, show: (model: any) => void}} Note */

/** The ids whose second sentence the reader has opened. */
const opened = () => new Set((remembered("reading.open") ?? "").split(" ").filter(Boolean));

/** @type {WeakMap<Element, Note>} */
const notes = new WeakMap();

/** Whether the sentences are shown at all. */
export const readingIsOn = () => remembered("reading") !== "off";

/** @param {HTMLElement} root  of the page @param {boolean} on */
export function setReading(root, on) {
  keepInMind("reading", on ? "on" : "off");
  update(root, { "data-reading": on ? null : "off" });
}

/** The words of the glossary, which are marked once they are here. */
const glossary = lazy(() => import("./glossary/glossary.js"));
const card = lazy(() => import("./glossary/glossary.js"));

/** Adds the notes of parts that are not panels, and the glossary's card. @param {Context} context @returns {Draw} */
export function createReading(context) {
  const { frame } = context;
  const { root, heads, masks } = frame;
  let asked = false;
  let shown = /** @type {State|null} */ (null);
  const ready = new MutationObserver(bring);
  ready.observe(root, { attributeFilter: ["data-state"] });
  setReading(root, readingIsOn());
  const titled = Object.entries({ heads: heads.title, masks: masks.title }).map(([id, title]) => {
    const note = noteOf(id);
    title.after(note.node);
    return note;
  });
  return (trace, state) => {
    if (!trace) return;
    titled.forEach((note) => note.show(trace.model));
    markCaption();
    shown = state;
    bring();
  };

  /** Once, after the picture. Of the whole model, the only text with words of the glossary is the caption of a card. */
  function bring() {
    if (asked || !shown || root.dataset.state !== "ready" || (isModel(shown) && !captioned())) return;
    asked = true;
    ready.disconnect();
    bringWords(context).then(() => {
      markCaption();
      for (const text of root.querySelectorAll(".reading :is(.what, .how)"))
        setMarked(/** @type {HTMLElement} */ (text), text.textContent ?? "");
    });
  }

  function captioned() {
    return frame.caption.parentElement?.hidden === false; // asking for its style would hold up the page
  }

  function markCaption() {
    if (captioned()) replaceMarked(frame.caption, frame.caption.textContent ?? "");
  }
}

/** Without the words, or the code for them, the texts stay as they are. @param {Context} context */
export async function bringWords(context) {
  try {
    await Promise.all([glossary.load(), card.load()]);
    await glossary.code?.loadWords();
  } catch {
    return;
  }
  if (!withCard.has(context)) card.code?.createWordCard(context);
  withCard.add(context);
}

/** The pages that have a card. @type {WeakSet<object>} */
const withCard = new WeakSet();

/** A text with the glossary's words marked, where there is room for them. @param {HTMLElement} root @param {string} text */
function setMarked(root, text) {
  if (root.dataset.text === text) return;
  replaceMarked(root, text);
}

/** @param {HTMLElement} root @param {string} text */
function replaceMarked(root, text) {
  if (root.dataset.text === text) return;
  const nodes = glossary.code?.mark(text) ?? [text];
  if (nodes.length === 1) {
    delete root.dataset.text;
    return setText(root, text);
  }
  root.dataset.text = text;
  replace(root, nodes);
}

/**
 * After a view has drawn: puts its note under the visible title. A view that redraws its title loses the note, so it is
 * put back.
 * @param {HTMLElement} root @param {string} id @param {any} model
 */
export function placeReading(root, id, model) {
  const about = root.dataset.reading ?? id; // a view with several parts says which one is open
  if (!hasString(`reading.${about}.what`)) return;
  if (notes.get(root)?.node.dataset.reading !== about) {
    notes.get(root)?.node.remove();
    notes.set(root, noteOf(about));
  }
  const { node, show } = /** @type {Note} */ (notes.get(root));
  const own = root.querySelector('[data-place="reading"]'); // beside its tabs, or below a picture that comes first
  const title = [...root.querySelectorAll("h1, h2")].find((one) => !one.closest("[hidden]"));
  const anchor = title?.closest(".bar") ?? title;
  if (own && own.firstElementChild !== node) own.append(node);
  if (!own && !anchor && root.firstElementChild !== node) root.prepend(node);
  if (!own && anchor && anchor.nextElementSibling !== node) anchor.after(node);
  show(model);
}

/** @param {string} id @returns {Note} */
function noteOf(id) {
  const what = h("span", { class: "what" });
  const how = h("p", { class: "how", id: newId(`reading-${id}`) });
  const toggle = () => {
    const now = opened();
    if (!now.delete(id)) now.add(id);
    keepInMind("reading.open", [...now].join(" "));
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
    const on = opened().has(id);
    how.hidden = !on;
    update(button, { "aria-expanded": on });
  }
  show();
  return {
    node,
    show(model) {
      const vars = { vocab: integer(model.vocab_size) };
      setMarked(what, t(keyFor(model, `reading.${id}.what`), vars));
      setMarked(how, t(keyFor(model, `reading.${id}.how`), vars));
    },
  };
}
