/** The words of a step, its question and its place in the lesson, drawn into the elements that all steps share. */

import { h, inOneColumn, replace, setText, update } from "../../ui/dom.js";
import { errorText } from "../../ui/format.js";
import { t } from "../../ui/i18n.js";
import { drawSources } from "../../ui/source.js";
import { mark as markWords } from "../glossary/glossary.js";
import { LESSON_MEASURES } from "./measures/index.js";
import { lessonSteps, nodesOf, rightOf, said, withMeasured } from "./steps.js";

/**
 * @import { Lesson, Next, Option, Question, Step } from "../../data/lessons.js"
 * @import { Patch } from "../../state/store.js"
 * @import { Live } from "./live.js"
 * @import { Parts } from "./parts.js"
 */

// The question of a step: first a guess, then what the live model says.

/** @param {Option} option */
export const optionWords = ({ en = "", ja = en, is = en }) => said({ en: en || is, ja: ja || is });

/**
 * @param {HTMLElement} root @param {Question} question
 * @param {{live: () => Live|null, mark: (text: string) => (Node|string)[], answered: () => void,
 *   perform: (patches: Patch[]) => void}} on  `live` is null while its model is not here yet
 */
function drawQuestion(root, question, { live, mark, answered, perform }) {
  const answer = h("p", { class: "lesson-answer", "aria-live": "polite", dataset: { testid: "lesson-answer" } });
  const buttons = question.options.map((option, i) =>
    h(
      "button",
      { class: "btn", type: "button", dataset: { testid: "lesson-option" }, on: { click: () => guess(i) } },
      optionWords(option),
    ),
  );
  const reveal = h(
    "button",
    {
      ...{ class: "btn quiet", type: "button", dataset: { testid: "lesson-reveal", act: "reveal" } },
      on: { click: () => guess(null) },
    },
    t("lesson.reveal"),
  );
  replace(
    root,
    h("p", { class: "lesson-ask" }, nodesOf(said(question.ask), mark)),
    h("div", { class: "lesson-options", role: "group" }, buttons, reveal),
    answer,
  );

  /** @param {number|null} choice */
  async function guess(choice) {
    const asked = live();
    if (!asked) return replace(answer, t("lesson.loading"));
    for (const button of [...buttons, reveal]) button.disabled = true;
    replace(answer, t("lesson.asking", { model: asked.model.name }));
    try {
      const found = await LESSON_MEASURES[question.measure](asked, question.with ?? {});
      if (!answer.isConnected) return; // another step is open: all share `root`
      const right = rightOf(question.options, found.value);
      buttons.forEach((button, i) =>
        update(button, { "data-verdict": i === right ? "right" : i === choice ? "other" : null }),
      );
      const verdict =
        choice === null ? [] : [h("b", null, t(choice === right ? "lesson.right" : "lesson.surprise")), " "];
      replace(answer, verdict, nodesOf(withMeasured(said(question.says), found), mark));
      root.dataset.answered = String(right);
      answered();
      if (question.performs) perform([found.patch ?? []].flat());
    } catch (error) {
      if (!answer.isConnected) return;
      for (const button of [...buttons, reveal]) button.disabled = false;
      replace(answer, errorText(/** @type {Error} */ (error)));
    }
    answer.scrollIntoView({ block: "nearest" });
  }
  delete root.dataset.answered;
}

/** Lets the open step answer its question, unless it has: a class has voted on it. @param {HTMLElement} root  of the page */
export const revealAnswer = (root) =>
  /** @type {HTMLElement|null} */ (root.querySelector(".lesson-question [data-act=reveal]:not(:disabled)"))?.click();

/**
 * The end of a lesson: what to do next.
 * @param {HTMLElement} root @param {Next[]} next @param {(next: Next) => void} follow
 */
function drawForward(root, next, follow) {
  const button = (/** @type {Next} */ one) =>
    h(
      "button",
      {
        class: "btn",
        type: "button",
        dataset: { testid: "lesson-onward" },
        on: { click: () => follow(one) },
      },
      said(one),
    );
  replace(
    root,
    h("p", { class: "lesson-ask" }, t("lesson.onward")),
    h("div", { class: "lesson-options", role: "group" }, next.map(button)),
  );
  delete root.dataset.answered;
}

// Details of a step for readers of papers: collapsed at first, with numbers that are measured once it is opened.

/**
 * @param {HTMLElement} root @param {Step} step @param {() => Live|null} live
 * @param {(text: string) => (Node|string)[]} mark
 */
function drawMore(root, { more }, live, mark) {
  if (!more) return replace(root);
  const text = h("p");
  const details = h(
    "details",
    { class: "source", dataset: { testid: "lesson-more" }, on: { toggle: () => details.open && fill() } },
    h("summary", null, t("lesson.more")),
    text,
  );
  replace(root, details);

  async function fill() {
    const asked = live();
    try {
      const found = more?.measure && asked ? await LESSON_MEASURES[more.measure](asked, more.with ?? {}) : {};
      replace(text, nodesOf(withMeasured(said(/** @type {any} */ (more)), found), mark));
    } catch (error) {
      replace(text, errorText(error));
    }
  }
}

// A link to each step of a lesson, as a dot.

/**
 * @param {HTMLElement} root @param {Lesson} lesson @param {number} n  the open step, from 1
 * @param {(by: number) => void} go
 */
function drawDots(root, lesson, n, go) {
  replace(
    root,
    lessonSteps(lesson).map((step, i) => {
      const number = step === lesson.closing ? "" : `${i + 1}. `;
      const title = number + said(step.title).replaceAll("*", "");
      return h("a", {
        href: `./?lesson=${lesson.id}&step=${i + 1}`,
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

/**
 * @param {Parts} parts @param {Lesson} lesson @param {number} n  from 1
 * @param {{live: () => Live|null, go: (by: number) => void, answered: () => void,
 *   perform: (patches: Patch[]) => void, follow: (next: Next) => void}} on
 */
export function drawStep(parts, lesson, n, { live, go, answered, perform, follow }) {
  const steps = lessonSteps(lesson);
  const step = steps[n - 1];
  const marked = /** @type {Set<string>} */ (new Set());
  const mark = (/** @type {string} */ text) => markWords(text, marked);
  const place = n > lesson.steps.length ? t("lesson.closing") : t("lesson.count", { i: n, n: lesson.steps.length });
  setText(parts.count, `${said(lesson.title)} · ${place}`);
  replace(parts.title, nodesOf(said(step.title)));
  replace(
    parts.words,
    said(step.words).map((text) => h("p", null, nodesOf(text, mark))),
  );
  const trying = step.try ?? step.then;
  parts.trying.hidden = !trying;
  parts.trying.classList.toggle("tells", step.then !== undefined);
  replace(parts.trying, h("b", null, t("lesson.try")), " ", trying ? nodesOf(said(trying), mark) : "");
  if (step.question) drawQuestion(parts.question, step.question, { live, mark, answered, perform });
  else drawForward(parts.question, step.next ?? [], follow);
  drawMore(parts.more, step, live, mark);
  drawSources(parts.source, step.source ?? []);
  const extra = Boolean(step.more || step.source?.length);
  update(parts.toggles.extra, { disabled: !extra, "aria-pressed": "false" });
  parts.extra.hidden = !extra || !inOneColumn(); // its button has no place there
  replace(parts.notes, h("h2", null, t("lesson.notes_title")), h("p", null, nodesOf(said(step.notes))));
  drawDots(parts.dots, lesson, n, go);
  parts.back.disabled = n === 1;
  setText(parts.next, t(n === steps.length ? "lesson.done" : "lesson.next"));
  setText(parts.said, place);
  parts.text.dataset.step = step.id;
  parts.text.scrollTop = 0;
}
