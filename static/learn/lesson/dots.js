/** A link to each step of a lesson, as a dot. */

import { h, replace } from "../../ui/dom.js";
import { stepsOf } from "./steps.js";
import { said } from "./words.js";

/** @import { Lesson } from "../../data/lessons.js" */

/**
 * @param {HTMLElement} root @param {Lesson} lesson @param {number} n  the open step, from 1
 * @param {(by: number) => void} go
 */
export function drawDots(root, lesson, n, go) {
  replace(
    root,
    stepsOf(lesson).map((step, i) => {
      const number = step === lesson.closing ? "" : `${i + 1}. `;
      const title = number + said(step.title).replaceAll("*", "");
      return h("a", {
        href: `/?lesson=${lesson.id}&step=${i + 1}`,
        "aria-label": title,
        title,
        "aria-current": i + 1 === n ? "step" : null,
        class: [i + 1 < n && "seen", step === lesson.closing && "closing"].filter(Boolean).join(" ") || null,
        on: { click: (/** @type {MouseEvent} */ event) => follow(event, () => go(i + 1 - n)) },
      });
    }),
  );
}

/** A plain click stays on the page; any other is the browser's. @param {MouseEvent} event @param {() => void} go */
function follow(event, go) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go();
}
