/**
 * An open lesson. A step sets the state of the real page; its places are shown large, everything else is put away, and
 * the step's words stand beside them.
 */

import { lesson as fetchLesson } from "../../data/lessons.js";
import { retrying } from "../../data/retry.js";
import { isEmpty } from "../../model/selection.js";
import { h, replace } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { bringWords } from "../reading.js";
import { ANCHORS, showOnly } from "./anchors.js";
import { FIGURES } from "./figures/index.js";
import { onKeys } from "./keys.js";
import { liveOf } from "./live.js";
import { buildParts } from "./parts.js";
import { drawPaper } from "./print.js";
import { keepProgress } from "./progress.js";
import { drawStep } from "./step.js";
import { patchOf, stepsOf } from "./steps.js";

/**
 * @import { Lesson, Step } from "../../data/lessons.js"
 * @import { Context } from "../../page.js"
 * @import { State } from "../../state/store.js"
 */

/**
 * @param {Context} context
 * @param {() => void} leave
 */
export function createGuide(context, leave) {
  const { actions, frame, modelOf, declared, status, ground } = context;
  const { root } = frame;
  const open = {
    lesson: /** @type {Lesson|null} */ (null),
    name: /** @type {string|null} */ (null),
    n: 0,
    figure: "",
  };
  const on = {
    go,
    leave,
    notes: () => toggle("notes"),
    extra: () => toggle("extra"),
    print: () => open.lesson && print(open.lesson),
  };
  const parts = buildParts(on);
  const own = [parts.figure, parts.text, parts.bar, parts.paper];
  onKeys(ground, () => open.lesson !== null && !frame.help.open, on);

  /** @param {State} state */
  async function follow(state) {
    if (state.lesson === null) return close();
    if (state.lesson !== open.name) return bring(state.lesson);
    if (open.lesson) show(open.lesson, state);
  }

  /** @param {string} asked  its name; the reader may leave it, or ask for another, before it is here */
  async function bring(asked) {
    Object.assign(open, { name: asked, lesson: null, n: 0 });
    try {
      await bringWords(context);
      const lesson = await retrying(() => fetchLesson(asked), { onWait: status.waiting });
      if (open.name !== asked) return;
      open.lesson = lesson;
    } catch (error) {
      if (open.name !== asked) return;
      status.notice(errorText(/** @type {Error} */ (error)));
      return leave();
    }
    follow(actions.get());
  }

  /** @param {Lesson} lesson @param {State} state */
  function show(lesson, state) {
    const steps = stepsOf(lesson);
    const n = Math.min(state.lessonStep, steps.length);
    const step = steps[n - 1];
    if (open.n !== n || isEmpty(state)) {
      open.n = n;
      keepProgress(lesson.id, n, lesson.steps.length);
      root.append(...own.filter(({ isConnected }) => !isConnected));
      root.classList.add("in-lesson");
      root.classList.toggle("with-tools", step.tools === true);
      guessed(!step.question);
      const answered = () => guessed(true);
      drawStep(parts, lesson, n, { live: () => liveFor(step), go, follow: leadOn, answered, perform: actions.set });
      root.scrollTop = 0;
      parts.title.focus({ preventScroll: true });
      // After this change has been drawn: it is inside the page's own redrawing.
      queueMicrotask(() => open.n === n && actions.set(patchOf(step, { lesson: lesson.id, n, declared })));
    }
    place(step);
  }

  /** Shows the step's places, and draws its figure once its model is here. @param {Step} step */
  function place(step) {
    const shown = step.show.map((name) => (name.startsWith("figure:") ? parts.figure : ANCHORS[name](frame)));
    showOnly(root, [...shown, ...own]);
    const name = step.show.find((one) => one.startsWith("figure:"))?.slice("figure:".length) ?? "";
    parts.figure.hidden = name === "";
    const live = liveFor(step);
    const key = `${open.name} ${open.n}`;
    if (open.figure === key) return;
    const drawing = h("div"); // its own: that of the step before may still be awaited
    replace(parts.figure, drawing, h("p", { class: "lesson-waits" }, t("lesson.waits")));
    if (!live) return;
    open.figure = key;
    Promise.resolve(FIGURES[name]?.(drawing, live, step.figure ?? {})).catch((error) => {
      if (!drawing.isConnected) return;
      open.figure = "";
      replace(drawing, h("p", { class: "panel-error", role: "alert" }, errorText(error)));
    });
  }

  /** @param {Step} step */
  function liveFor(step) {
    const model = modelOf(actions.get());
    return model?.description && model.name === (step.open.model ?? model.name) ? liveOf(step.open, model) : null;
  }

  /** @param {number} by */
  function go(by) {
    const to = open.n + by;
    if (!open.lesson || to < 1) return;
    if (to > stepsOf(open.lesson).length) return leave();
    actions.set({ lessonStep: to });
  }

  /** Whether what gives the answer away may be seen: css/lesson.css hides it until then. @param {boolean} made */
  function guessed(made) {
    root.dataset.guess = made ? "made" : "open";
  }

  /** Where the end of a lesson leads: to another lesson, or to a sentence of the reader's own. @param {string|null} lesson */
  function leadOn(lesson) {
    if (lesson !== null) return actions.set({ lesson, lessonStep: 1 });
    leave();
    frame.sentence.input.focus();
  }

  /** @param {"notes"|"extra"} name */
  function toggle(name) {
    const [aside, button] = [parts[name], parts.toggles[name]];
    if (button.disabled) return;
    aside.hidden = !aside.hidden;
    button.setAttribute("aria-pressed", String(!aside.hidden));
    for (const details of aside.querySelectorAll("details")) details.open = !aside.hidden;
    if (!aside.hidden) aside.scrollIntoView({ block: "start" });
  }

  /** @param {Lesson} lesson */
  function print(lesson) {
    drawPaper(parts.paper, lesson, !parts.notes.hidden);
    window.print();
  }

  function close() {
    if (!open.name) return;
    Object.assign(open, { lesson: null, name: null, n: 0, figure: "" });
    root.classList.remove("in-lesson", "with-tools");
    delete root.dataset.guess;
    showOnly(root, []);
    for (const part of own) part.remove();
    dispatchEvent(new Event("resize")); // pictures have another width again
  }

  return { follow };
}
