/** The words of a step, its question and its place in the lesson, drawn into the elements that all steps share. */

import { h, replace, setText } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";
import { drawSources } from "../../ui/source.js";
import { mark as markWords } from "../glossary/glossary.js";
import { drawDots } from "./dots.js";
import { drawMore } from "./more.js";
import { drawQuestion } from "./question.js";
import { nodesOf, said } from "./words.js";

/**
 * @param {import("./parts.js").Parts} parts @param {import("../../data/lessons.js").Lesson} lesson @param {number} n  from 1
 * @param {{live: () => import("./live.js").Live|null, go: (by: number) => void}} on
 */
export function drawStep(parts, lesson, n, { live, go }) {
  const step = lesson.steps[n - 1];
  const marked = /** @type {Set<string>} */ (new Set());
  const mark = (/** @type {string} */ text) => markWords(text, marked);
  setText(parts.count, `${said(lesson.title)} · ${n} / ${lesson.steps.length}`);
  replace(parts.title, nodesOf(said(step.title)));
  replace(
    parts.words,
    said(step.words).map((text) => h("p", null, nodesOf(text, mark))),
  );
  parts.trying.hidden = !step.try;
  replace(parts.trying, h("b", null, t("lesson.try")), " ", step.try ? nodesOf(said(step.try), mark) : "");
  drawQuestion(parts.question, step.question, live, mark);
  drawMore(parts.more, step, live, mark);
  drawSources(parts.source, step.source ?? []);
  replace(parts.notes, h("h2", null, t("lesson.notes_title")), h("p", null, nodesOf(said(step.notes))));
  drawDots(parts.dots, lesson, n, go);
  parts.back.disabled = n === 1;
  setText(parts.next, t(n === lesson.steps.length ? "lesson.done" : "lesson.next"));
  setText(parts.said, t("lesson.count", { i: n, n: lesson.steps.length }));
  parts.text.dataset.step = step.id;
  parts.told.scrollTop = 0;
}
