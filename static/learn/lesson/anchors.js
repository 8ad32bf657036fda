/** The places of the page that a lesson can show, and how all others are put away meanwhile: css/lesson.css. */

/** @import { Frame } from "../../shell/frame.js" */

/** @type {Object<string, (frame: Frame) => HTMLElement>} */
export const ANCHORS = {
  sentence: ({ sentence }) => sentence.element,
  river: ({ panels }) => panels.river,
  heads: ({ side }) => side.heads,
  causal: ({ side }) => /** @type {HTMLElement} */ (side.masks.firstElementChild ?? side.masks),
  masks: ({ side }) => side.masks,
  station: ({ opened }) => opened,
  inspector: ({ panels }) => panels.inspector,
  next: ({ panels }) => panels.next_token,
  generation: ({ panels }) => panels.generation,
  classes: ({ panels }) => panels.classes,
  batch: ({ panels }) => panels.batch,
};

/** Shows these elements below `root`, and nothing else. @param {HTMLElement} root @param {HTMLElement[]} shown */
export function showOnly(root, shown) {
  const marks = new Map(shown.map((element) => [element, "shown"]));
  for (const element of shown) {
    for (let at = element.parentElement; at && at !== root; at = at.parentElement)
      if (!marks.has(at)) marks.set(at, "path");
  }
  for (const old of root.querySelectorAll("[data-lesson]"))
    if (!marks.has(/** @type {HTMLElement} */ (old))) delete (/** @type {HTMLElement} */ (old).dataset.lesson);
  for (const [element, mark] of marks) element.dataset.lesson = mark;
}
