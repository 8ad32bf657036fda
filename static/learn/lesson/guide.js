/**
 * An open lesson. A step sets the state of the real page; the places that it names are enlarged, everything else is
 * hidden, and the step's words are shown next to them.
 */

import { retrying } from "../../data/ask.js";
import { lesson as fetchLesson } from "../../data/lessons.js";
import { isEmpty } from "../../model/selection.js";
import { h, inOneColumn, replace, setText } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { bringWords } from "../reading.js";
import { FIGURES } from "./figures/index.js";
import { liveOf } from "./live.js";
import { buildLessonParts } from "./parts.js";
import { drawStep, optionWords } from "./step.js";
import { keepProgress, lessonSteps, nodesOf, said, stepPatch } from "./steps.js";

/**
 * @import { Lesson, Next, Step } from "../../data/lessons.js"
 * @import { Context } from "../../page.js"
 * @import { Frame } from "../../shell/frame.js"
 * @import { Parts } from "./parts.js"
 * @import { Patch, State } from "../../state/store.js"
 */

// A lesson on paper: every step with its words and its question; with the speaker's notes, where they are open.

/** @param {HTMLElement} root @param {Lesson} lesson @param {boolean} noted */
function drawPaper(root, lesson, noted) {
  replace(
    root,
    h("h1", null, said(lesson.title)),
    h("p", null, said(lesson.about)),
    lessonSteps(lesson).map((step, i) => {
      const number = step === lesson.closing ? "" : `${i + 1}. `;
      return stepOf(step, number, new URL(`./?lesson=${lesson.id}&step=${i + 1}`, location.href).href, noted);
    }),
  );
}

/** @param {Step} step @param {string} number @param {string} link @param {boolean} noted */
function stepOf({ title, words, try: first, then, question, notes }, number, link, noted) {
  const trying = first ?? then;
  return h(
    "article",
    null,
    h("h2", null, number + said(title)),
    said(words).map((text) => h("p", null, nodesOf(text))),
    trying && h("p", null, h("b", null, t("lesson.try")), " ", nodesOf(said(trying))),
    question && [
      h("p", null, h("b", null, t("lesson.question")), " ", nodesOf(said(question.ask))),
      h(
        "ul",
        null,
        question.options.map((option) => h("li", null, optionWords(option))),
      ),
    ],
    noted && h("p", { class: "lesson-paper-notes" }, h("b", null, t("lesson.notes_title")), " ", nodesOf(said(notes))),
    h("p", { class: "dim" }, link),
  );
}

// The places of the page that a lesson can show, and how all others are hidden meanwhile: css/lesson.css.

/** The place, and what belongs to it. @type {Object<string, (frame: Frame) => HTMLElement[]>} */
export const ANCHORS = {
  sentence: ({ sentence }) => [sentence.element],
  river: ({ panels, say }) => [panels.river, say],
  heads: ({ heads }) => [heads.grid],
  causal: ({ masks }) => [
    /** @type {HTMLElement} */ (masks.switches.querySelector('[data-switch="causal"]') ?? masks.switches),
  ],
  masks: ({ masks }) => [masks.switches],
  station: ({ opened }) => [opened],
  inspector: ({ panels }) => [panels.inspector],
  next: ({ panels }) => [panels.next_token],
  generation: ({ panels, dock }) => [panels.generation, dock],
  classes: ({ panels }) => [panels.classes],
  batch: ({ panels }) => [panels.batch],
};

/** @param {any[]} pair @returns {[HTMLElement, string]} */
const asMark = ([element, mark]) => [element, mark];

/** Shows these elements below `root`, and nothing else. @param {HTMLElement} root @param {HTMLElement[]} shown @param {HTMLElement[]} [beside]  what belongs to them */
function showOnly(root, shown, beside = []) {
  const marks = new Map([...beside.map((one) => [one, "beside"]), ...shown.map((one) => [one, "shown"])].map(asMark));
  for (const element of marks.keys()) {
    for (let at = element.parentElement; at && at !== root; at = at.parentElement)
      if (!marks.has(at)) marks.set(at, "path");
  }
  for (const old of root.querySelectorAll("[data-lesson]"))
    if (!marks.has(/** @type {HTMLElement} */ (old))) delete (/** @type {HTMLElement} */ (old).dataset.lesson);
  for (const [element, mark] of marks) element.dataset.lesson = mark;
}

/** The keys of a lesson: those of a slide show and of a clicker, S for the notes, Escape to leave. */
const BY = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1 };

/** Where the arrow keys belong to what has the focus. */
const USES_ARROWS =
  "input, textarea, select, canvas, summary, [role=application], [role=slider], [role=tab], [role=gridcell], .strip, .heads-grid";

/**
 * @param {EventTarget} ground @param {() => boolean} isOpen
 * @param {{go: (by: number) => void, leave: () => void, notes: () => void}} on
 */
function onKeys(ground, isOpen, { go, leave, notes }) {
  ground.addEventListener("keydown", (given) => {
    const event = /** @type {KeyboardEvent} */ (given);
    if (!isOpen() || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing)
      return;
    const at = /** @type {HTMLElement} */ (event.target);
    const field = at.matches?.("input:not([type=range]), textarea, select");
    const by = BY[/** @type {keyof typeof BY} */ (event.key)];
    const arrow = event.key.startsWith("Arrow");
    if (by && !(arrow && at.closest?.(USES_ARROWS))) {
      event.preventDefault();
      go(by);
    } else if (event.key === "Escape" && !field) leave();
    else if (event.key.toLowerCase() === "s" && !field) notes();
  });
}

/** From the bottom of the screen, its bar included: a question that begins lower cannot be read yet. Pixels. */
const TOO_LOW = 220;

/**
 * On a phone the question is below the picture: while it is below the screen, *Next* leads to it.
 * @param {Parts} parts
 */
function followQuestion({ question, next }) {
  const words = { go: "", stay: t("lesson.to_question") };
  let isBelow = false;
  const watch = new IntersectionObserver(
    ([{ isIntersecting, boundingClientRect }]) => {
      isBelow = !isIntersecting && boundingClientRect.top > 0 && inOneColumn() && !question.dataset.answered;
      setText(next, isBelow ? words.stay : words.go);
    },
    { rootMargin: `0px 0px -${TOO_LOW}px 0px` },
  );
  return {
    isBelow: () => isBelow,
    /** With each step, once it is drawn. @param {boolean} asks */
    begin(asks) {
      watch.disconnect();
      isBelow = false;
      words.go = next.textContent ?? "";
      if (asks) watch.observe(question);
    },
  };
}

/** How long a change can be seen before an answer makes the next. */
const SEEN_MS = 700;

/**
 * @param {Context} context
 * @param {() => void} leave
 */
export function createLessonGuide(context, leave) {
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
    next: () => (asked.isBelow() ? parts.question.scrollIntoView({ block: "end" }) : go(1)),
    leave,
    notes: () => toggle("notes"),
    extra: () => toggle("extra"),
    print: () => open.lesson && print(open.lesson),
  };
  const parts = buildLessonParts(on);
  const asked = followQuestion(parts);
  const own = [parts.figure, parts.text, parts.bar, parts.paper];
  onKeys(ground, () => open.lesson !== null && !frame.help.open, on);

  /** Makes an answer's changes one after the other, unless the reader goes on. @param {Patch[]} patches */
  function perform([first, ...others]) {
    if (first) actions.set(first);
    if (others.length) afterwards(others);
  }

  /** @param {Patch[]} patches  to make once the page shows the one before */
  function afterwards(patches) {
    const { n, name } = open;
    setTimeout(() => {
      if (open.n !== n || open.name !== name) return;
      if (actions.isLoading()) afterwards(patches);
      else perform(patches);
    }, SEEN_MS);
  }

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
    const steps = lessonSteps(lesson);
    const n = Math.min(state.lessonStep, steps.length);
    const step = steps[n - 1];
    if (open.n !== n || isEmpty(state)) {
      open.n = n;
      keepProgress(lesson.id, n, lesson.steps.length);
      root.append(...own.filter(({ isConnected }) => !isConnected));
      root.classList.add("in-lesson");
      root.classList.toggle("with-tools", step.tools === true);
      guessed(!step.question);
      const answered = () => {
        guessed(true);
        place(step, step.question?.figure);
        if (step.question?.figure) parts.trying.hidden = true; // what it is about is gone
      };
      drawStep(parts, lesson, n, { live: () => liveFor(step), go, follow: leadOn, answered, perform });
      root.scrollTop = 0;
      parts.title.focus({ preventScroll: true });
      asked.begin(Boolean(step.question));
      // After this change has been drawn, because this runs while the page redraws.
      queueMicrotask(() => open.n === n && actions.set(stepPatch(step, { lesson: lesson.id, n, declared })));
    }
    place(step);
  }

  /**
   * Shows the step's places, and draws its figure once its model is here.
   * @param {Step} step @param {string} [answer]  the figure that answers its question, in the place of its own
   */
  function place(step, answer) {
    const places = step.show.map((name) => (name.startsWith("figure:") ? [parts.figure] : ANCHORS[name](frame)));
    const shown = places.map(([place]) => place);
    showOnly(
      root,
      [...shown, ...own],
      places.flatMap(([, ...beside]) => beside),
    );
    frame.sentence.element.classList.toggle("editing", step.show.includes("sentence")); // its field over its tokens
    frame.heads.showAll(step.show.includes("heads"));
    const asking = step.show.find((one) => one.startsWith("figure:"))?.slice("figure:".length) ?? "";
    const [name, options] = answer ? [answer, step.question?.with] : [asking, step.figure];
    parts.figure.hidden = name === "";
    const live = liveFor(step);
    const key = `${open.name} ${open.n}`;
    if (open.figure === key && !answer) return;
    const drawing = h("div"); // its own: that of the step before may still be awaited
    replace(parts.figure, drawing, h("p", { class: "lesson-waits" }, t("lesson.waits")));
    if (!live) return;
    open.figure = key;
    Promise.resolve(FIGURES[name]?.(drawing, live, options ?? {})).catch((error) => {
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
    if (to > lessonSteps(open.lesson).length) return leave();
    actions.set({ lessonStep: to });
  }

  /** Whether what gives the answer away may be seen: css/lesson.css hides it until then. @param {boolean} made */
  function guessed(made) {
    root.dataset.guess = made ? "made" : "open";
  }

  /** Where the end of a lesson leads: to another lesson, to a drawer, or to a sentence of the reader's own. @param {Next} next */
  function leadOn({ lesson, drawer }) {
    if (lesson) return actions.set({ lesson, lessonStep: 1 });
    leave();
    if (drawer) actions.set({ drawer });
    else frame.sentence.input.focus();
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
    frame.sentence.element.classList.remove("editing");
    frame.heads.showAll(false);
    showOnly(root, []);
    for (const part of own) part.remove();
  }

  return { follow };
}
