/** Lessons on a page: which one is open (`state.lesson`), and what its reader returns to. */

import { retrying } from "../../data/ask.js";
import { lazy, once } from "../../data/lazily.js";
import { firstHead } from "../../shell/initial_state.js";
import { DEFAULTS } from "../../state/store.js";
import { freshViewState } from "../../state/view_state.js";
import { createPopover } from "../../ui/controls.js";
import { h, replace, setText, svg, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { language, t } from "../../ui/i18n.js";
import { keepInMind, remembered } from "../../ui/remembered.js";

/**
 * @import { Line } from "../../data/lessons.js"
 * @import { Context, Follow } from "../../page.js"
 * @import { State } from "../../state/store.js"
 * @import { Declared } from "../../state/view_state.js"
 */

// Where lessons are offered: a menu in the header, and the page without a sentence.

/** The lesson that newcomers are offered. */
const FIRST = "attention";

/**
 * @param {Context} context @param {(lesson: string, step: number) => void} enter
 */
function createMenu(context, enter) {
  const { frame, door } = context;
  const button = /** @type {HTMLButtonElement} */ (frame.header.lessons);
  const words = h("span", { class: "word" });
  replace(button, icon(), words);
  const panel = h("div", { class: "lesson-menu", dataset: { testid: "lesson-menu" } });
  const place = h("div", { class: "lessons" });
  button.before(place);
  place.append(button, panel);
  let locked = false;
  let items = /** @type {HTMLElement[]} */ ([]);
  let lines = /** @type {Line[]} */ ([]);
  const { close } = createPopover(place, button, panel, () => {
    seen();
    return filled().then(remind).then(lock, failed);
  });
  const list = lazy(() => import("../../data/lessons.js"));
  const progress = lazy(() => import("./steps.js"));
  const start = (/** @type {string} */ lesson) => {
    seen();
    close();
    enter(lesson, progress.code?.progressIn(lesson).step ?? 1);
  };

  const filled = once(async () => {
    await Promise.all([list.load(), progress.load()]);
    lines = (await list.code?.lessons()) ?? [];
    items = lines.map(({ id, title }) =>
      item(title[language()], "", { testid: "lesson-item", lesson: id }, () => start(id)),
    );
    replace(panel, items, door ? [teaching(door)] : []);
  });
  /** Who looks for a lesson may want it for a class. @param {NonNullable<Context["door"]>} room */
  const teaching = (room) =>
    item(t("tools.teach"), t("tools.teach_about"), { testid: "lessons-teach" }, () => {
      close();
      room.teach();
    });
  const failed = (/** @type {Error} */ error) => replace(panel, h("p", { role: "alert" }, errorText(error)));

  /** How far the reader has come. */
  function remind() {
    lines.forEach(({ id, minutes }, i) => {
      const { step = 1, done = false } = progress.code?.progressIn(id) ?? {};
      const about = [
        done ? t("lesson.was_done") : t("lesson.minutes", { n: minutes }),
        step > 1 && t("lesson.continue", { step }),
      ];
      setText(/** @type {HTMLElement} */ (items[i].lastElementChild), about.filter(Boolean).join(" · "));
      items[i].classList.toggle("done", done);
    });
  }

  /** Lessons query the live model, so they are locked while a saved trace is shown. */
  function lock() {
    for (const one of items) update(one, { disabled: locked, title: locked ? t("open.locked") : null });
  }

  const [notNow, on] = [t("lesson.not_now"), { click: seen }];
  replace(
    frame.offer,
    h("p", null, t("lesson.offer")),
    h(
      "button",
      { class: "btn primary", type: "button", dataset: { testid: "lesson-take" }, on: { click: () => start(FIRST) } },
      t("lesson.take"),
    ),
    h("button", { class: "btn quiet not-now", type: "button", dataset: { testid: "lesson-decline" }, on }, notNow),
  );

  function show() {
    const fresh = remembered("invited") === null;
    setText(words, t("lesson.button"));
    update(button, { title: t("lesson.about"), class: fresh ? "btn with-icon invites" : "btn with-icon" });
    frame.offer.hidden = !fresh;
  }
  function seen() {
    keepInMind("invited", "seen");
    show();
  }
  show();
  return {
    /** On a phone the button is in a menu, which is closed. */
    focus: () => (button.checkVisibility() ? button : frame.header.more.button).focus({ preventScroll: true }),
    /** @param {State} state */
    draw(state) {
      if (state.lesson !== null) close();
      locked = state.file !== null;
      lock();
    },
  };
}

/** @param {string} title @param {string} about @param {Object<string, string>} dataset @param {() => void} click */
const item = (title, about, dataset, click) =>
  h("button", { type: "button", dataset, on: { click } }, h("b", null, title), h("small", { class: "dim" }, about));

/** A signpost. */
const icon = () =>
  svg(
    "svg",
    { viewBox: "0 0 16 16", class: "sign", "aria-hidden": "true" },
    svg("path", { d: "M8 1.5v13M8 3h5l1.5 1.8L13 6.6H8M8 7.6H3.4L1.9 9.4l1.5 1.8H8" }),
  );

/**
 * What was open before a lesson, which is restored after it.
 * @param {{examples: Context["examples"], declared: Declared[]}} page
 */
export function createOutside({ examples, declared }) {
  /** @type {State|null} */
  let before = null;

  /** The state after a lesson that a link has opened: what it shows stays open. @param {State} state @returns {State} */
  function asShown({ model, text, theme, type, lang, tree }) {
    const head = firstHead(examples, model ?? "");
    return { ...DEFAULTS, ...head, model, text, theme, type, lang, tree };
  }

  return {
    /** @param {State|null} state  null: the lesson is over */
    keep(state) {
      before = state;
    },
    /** The change that leads out of the lesson. @param {State} state  in it @returns {Partial<State>} */
    patch(state) {
      const { theme, type, lang, file, viewState, ...was } = before ?? asShown(state);
      return { ...was, viewState: freshViewState(declared, viewState) };
    },
  };
}

/** @param {Context} context @returns {Follow} */
export function createLessons(context) {
  const { actions, frame, status, outside } = context;
  const code = lazy(() => import("./guide.js"));
  /** @type {ReturnType<typeof import("./guide.js").createLessonGuide>|undefined} */
  let guide;
  const menu = createMenu(context, enter);

  /** @param {string} lesson @param {number} lessonStep  from 1 */
  function enter(lesson, lessonStep) {
    outside.keep(actions.get());
    actions.set({ lesson, lessonStep });
  }

  function leave() {
    actions.set({ ...outside.patch(actions.get()), lesson: null, lessonStep: 1 });
    outside.keep(null);
    menu.focus();
  }

  /** @param {State} state */
  async function follow(state) {
    try {
      await retrying(code.load, { onWait: status.waiting });
    } catch (error) {
      return status.notice(errorText(/** @type {Error} */ (error)));
    }
    guide ??= code.code?.createLessonGuide(context, leave);
    guide?.follow(actions.get());
  }

  return (state) => {
    menu.draw(state);
    if (guide) guide.follow(state);
    else if (state.lesson !== null) follow(state);
    if (state.lesson === null) frame.root.classList.remove("in-lesson");
  };
}
