/** Lessons on a page: which one is open (`state.lesson`), and what its reader returns to. */

import { lazy } from "../../data/lazily.js";
import { retrying } from "../../data/retry.js";
import { firstHead } from "../../shell/switched.js";
import { levelFrom } from "../../state/levels.js";
import { freshOwn } from "../../state/own.js";
import { DEFAULTS } from "../../state/store.js";
import { errorText } from "../../ui/format.js";
import { remembered } from "../../ui/remembered.js";
import { createMenu } from "./menu.js";

/**
 * @import { Context, Draw } from "../../page.js"
 * @import { State } from "../../state/store.js"
 */

/** @param {Context} context @returns {Draw} */
export function createLessons(context) {
  const { actions, examples, frame, status, declared } = context;
  const code = lazy(() => import("./guide.js"));
  /** @type {ReturnType<typeof import("./guide.js").createGuide>|undefined} */
  let guide;
  /** @type {State|null} what was open before the lesson */
  let before = null;
  const menu = createMenu(context, enter);

  /** @param {string} lesson @param {number} lessonStep  from 1 */
  function enter(lesson, lessonStep) {
    before = actions.get();
    actions.set({ lesson, lessonStep });
  }

  /** A link has opened the lesson: what it shows stays open. */
  const asShown = () => {
    const { model, text, theme, type, lang } = actions.get();
    const head = firstHead(examples, model ?? "");
    return { ...DEFAULTS, ...head, model, text, theme, type, lang, level: levelFrom(remembered("level")) };
  };

  /** What the reader comes back to. */
  function outside() {
    const { theme, type, lang, file, own, ...was } = before ?? asShown();
    return { ...was, own: freshOwn(declared, own) };
  }

  function leave() {
    actions.set({ ...outside(), lesson: null, lessonStep: 1 });
    before = null;
    menu.focus();
  }

  context.files.outsideLesson = () => (actions.get().lesson === null ? {} : outside());

  /** @param {State} state */
  async function follow(state) {
    try {
      await retrying(code.load, { onWait: status.waiting });
    } catch (error) {
      return status.notice(errorText(/** @type {Error} */ (error)));
    }
    guide ??= code.code?.createGuide(context, leave);
    guide?.follow(actions.get());
  }

  return (trace, state) => {
    menu.draw(state);
    if (guide) guide.follow(state);
    else if (state.lesson !== null) follow(state);
    if (state.lesson === null) frame.root.classList.remove("in-lesson");
  };
}
