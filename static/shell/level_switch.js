/** Look · Understand · Everything: how much of the page is shown. One tab stop; the arrow keys choose, as in any radio group. */

import { can } from "../model/description.js";
import { isEmpty } from "../model/selection.js";
import { atLeast, LEVELS } from "../state/page_fields.js";
import { followLevel } from "../ui/controls.js";
import { h, update } from "../ui/dom.js";
import { t } from "../ui/i18n.js";
import { keepInMind } from "../ui/remembered.js";

/**
 * @import { Context, Follow } from "../page.js"
 * @import { Frame } from "./frame.js"
 * @import { Level } from "../state/page_fields.js"
 */

/** The control, without its behaviour. */
export function buildLevelSwitch() {
  const buttons = LEVELS.map((level) =>
    h(
      "button",
      { type: "button", role: "radio", title: t(`level.${level}_about`), dataset: { level, testid: `level-${level}` } },
      t(`level.${level}`),
    ),
  );
  const element = h("div", { class: "seg levels", role: "radiogroup", "aria-label": t("level.label") }, buttons);
  return { element, buttons };
}

/**
 * The level of the page: its switch, and what CSS reads from the root.
 * @param {Context} context @returns {Follow}
 */
export function createLevels({ actions, modelOf, frame }) {
  const { element, buttons } = frame.header.levels;
  const choose = (/** @type {Level} */ level) => {
    keepInMind("level", level);
    actions.set({ level });
  };
  for (const button of buttons)
    button.addEventListener("click", () => choose(/** @type {Level} */ (button.dataset.level)));
  element.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = LEVELS.indexOf(actions.get().level) + step;
    const next = buttons[(at + LEVELS.length) % LEVELS.length];
    choose(/** @type {Level} */ (next.dataset.level));
    next.focus();
  });

  return (state) => {
    const { level } = state;
    for (const button of buttons) {
      const on = button.dataset.level === level;
      update(button, { "aria-checked": on, tabindex: on ? 0 : -1 });
    }
    frame.root.dataset.level = level;
    const looks = !atLeast(state, "understand");
    // For a model without a river, Look shows its heads and the open station.
    frame.body.hidden = looks && can(modelOf(state), "route");
    frame.root.classList.toggle("river-only", frame.body.hidden); // whose rows are the tokens
    update(frame.skip, { href: `#${(isEmpty(state) ? frame.welcome : subjectOf(frame)).id}` });
    frame.side.masksFold.hidden = looks;
    followLevel(frame.side.masksFold, state);
  };
}

/** The element where the content begins: the open station, or the river if there is nothing else. @param {Pick<Frame, "body"|"main"|"opened">} frame @returns {HTMLElement} */
export const subjectOf = ({ body, main, opened }) => (body.hidden ? main : opened);
