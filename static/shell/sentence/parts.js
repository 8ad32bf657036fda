/** The elements of the sentence bar: the sentence, the target, errors about either, and the page's status. */

import { h, newId } from "../../ui/dom.js";
import { t } from "../../ui/i18n.js";

/** @typedef {ReturnType<typeof buildSentence>} SentenceParts */

/** @param {HTMLElement[]} panels  beside Step */
export function buildSentence(panels) {
  const problem = problemLine("sentence-problem", "problem");
  const targetProblem = problemLine("target-problem", "target-problem");
  const about = h("span", { class: "dim about", id: newId("target-about"), dataset: { testid: "target-about" } });
  const parts = {
    input: field("sentence", { "aria-describedby": problem.id, autocapitalize: "sentences" }),
    took: h("span", { class: "dim took", dataset: { testid: "took" } }),
    picture: h("div", { class: "picture", hidden: true, dataset: { testid: "picture" } }),
    problem,
    notes: h("div", { class: "notes", role: "status", hidden: true, dataset: { testid: "notes" } }),
    written: h("p", { class: "written", hidden: true, dataset: { testid: "written" } }),
    strip: h("div", { class: "strip" }),
    target: field("target", { "aria-describedby": `${about.id} ${targetProblem.id}` }),
    targetAbout: about,
    targetOwn: h(
      "button",
      { class: "btn", type: "button", hidden: true, dataset: { testid: "target-own" } },
      t("target.own"),
    ),
    targetSwitch: h("button", { class: "btn", type: "button", hidden: true, dataset: { testid: "target-switch" } }),
    targetProblem,
    targetStrip: h("div", { class: "strip target-strip", hidden: true }),
    steps: h("div", { class: "steps", dataset: { testid: "steps" } }),
    status: h("p", { class: "sr-only", role: "status", "aria-live": "polite" }),
    banner: h("p", { class: "banner", role: "alert", hidden: true, dataset: { testid: "banner" } }),
  };
  const ends = h("div", { class: "ends" }, panels, parts.steps);
  const row = h("div", { class: "row" }, parts.input, parts.picture, parts.took);
  const targetRow = h(
    "div",
    { class: "row target", hidden: true },
    parts.target,
    about,
    parts.targetOwn,
    parts.targetSwitch,
  );
  const under = h("div", { class: "under" }, parts.strip, ends);
  const targetUnder = h("div", { class: "under target-under" }, parts.targetStrip);
  const element = h(
    "section",
    { class: "sentence" },
    ...[row, problem, parts.written, parts.notes, under],
    ...[targetRow, targetProblem, targetUnder, parts.status, parts.banner],
  );
  return { element, targetRow, under, targetUnder, ends, ...parts };
}

/** @param {"sentence"|"target"} name @param {object} attrs @returns {HTMLTextAreaElement} */
function field(name, attrs) {
  const words = { "aria-label": t(`${name}.label`), placeholder: t(`${name}.placeholder`) };
  const plain = { rows: 1, autocomplete: "off", spellcheck: "false" };
  return h("textarea", { ...plain, ...words, ...attrs, dataset: { testid: name } });
}

/** @param {string} id @param {string} testid @returns {HTMLElement} */
const problemLine = (id, testid) =>
  h("p", { class: "problem", id: newId(id), role: "alert", hidden: true, dataset: { testid } });
