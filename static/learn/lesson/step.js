/** The words of a step, its question and its place in the lesson, drawn into the elements that all steps share. */

import { h, inOneColumn, replace, setText, update } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { drawSources } from "../../ui/source.js";
import { mark as markWords } from "../glossary/glossary.js";
import { drawDots } from "./dots.js";
import { drawMore } from "./more.js";
import { drawNext, drawQuestion } from "./question.js";
import { stepsOf } from "./steps.js";
import { nodesOf, said } from "./words.js";

/**
 * @import { Lesson } from "../../data/lessons.js"
 * @import { Patch } from "../../state/store.js"
 * @import { Live } from "./live.js"
 * @import { Parts } from "./parts.js"
 */

/**
 * @param {Parts} parts @param {Lesson} lesson @param {number} n  from 1
 * @param {{live: () => Live|null, go: (by: number) => void, answered: () => void,
 *   perform: (patch: Patch) => void, follow: (lesson: string|null) => void}} on
 */
export function drawStep(parts, lesson, n, { live, go, answered, perform, follow }) {
  const steps = stepsOf(lesson);
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
  else drawNext(parts.question, step.next ?? [], follow);
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
